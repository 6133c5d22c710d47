"""Reading text: words, stems, dates, questions and statements. Pure, without the ledger."""
