"""The made-up texts of the speed benchmarks."""

from collections import Counter

from corpus import Corpus


def test_the_same_seed_gives_the_same_texts():
    """Texts and questions depend on the seed alone."""
    assert Corpus(3).texts(50) == Corpus(3).texts(50)
    assert Corpus(3).questions(5) == Corpus(3).questions(5)
    assert Corpus(3).texts(50) != Corpus(4).texts(50)


def test_no_text_comes_twice():
    """Every memory is unlike the others, so that none is taken for a repetition."""
    assert len(set(Corpus().texts(5_000, sentences=1))) == 5_000


def test_words_are_common_and_rare():
    """Some words stand in a third of the texts, thousands in one or two, as in real text."""
    texts = Corpus().texts(3_000)
    counts = Counter(word for text in texts for word in set(text.lower().split()))
    assert counts.most_common(1)[0][1] > 1_000
    assert sum(count <= 2 for count in counts.values()) > 3_000
