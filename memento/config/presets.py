"""Settings for four sorts of assistant: how fast they forget, and what they set aside."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from memento.config.sleep import Sleep
from memento.dynamics.association import Association
from memento.dynamics.config import Dynamics, Stability
from memento.types import Kind

CHATBOT = Dynamics(
    decay=0.4,
    stability=Stability(
        episode=60.0,
        context=30.0,
        question=30.0,
        emotion=120.0,
        fact=180.0,
        relation=180.0,
        opinion=90.0,
        preference=365.0,
        decision=365.0,
        procedure=365.0,
        article=365.0,
    ),
    a1=0.10,
    a2=0.003,
    mu2=0.06,
)
TASK_AGENT = Dynamics(
    decay=0.6,
    stability=Stability(
        episode=7.0,
        context=3.0,
        question=3.0,
        emotion=14.0,
        fact=60.0,
        relation=60.0,
        opinion=30.0,
        preference=180.0,
        decision=180.0,
        procedure=180.0,
        article=180.0,
    ),
    a1=0.35,
    a2=0.010,
    mu2=0.25,
    half_life=45.0,
)
RESEARCHER = Dynamics(
    decay=0.4,
    stability=Stability(
        episode=365.0,
        context=180.0,
        question=180.0,
        emotion=365.0,
        fact=1825.0,
        relation=1825.0,
        opinion=730.0,
        preference=1825.0,
        decision=1825.0,
        procedure=1825.0,
        article=1825.0,
    ),
    a1=0.05,
    a2=0.001,
    mu2=0.06,
    half_life=720.0,
)
LINKED: Mapping[str, Association] = MappingProxyType(
    {
        "task agent": Association(rate=0.25, budget=1.0),
        "researcher": Association(rate=0.10, budget=4.0),
    }
)
"""Name of a preset to its settings of the links, where they are not the default ones."""
_FOUR = Sleep().perishable

PRESETS: Mapping[str, tuple[Dynamics, Sleep]] = MappingProxyType(
    {
        "chatbot": (CHATBOT, Sleep(replay=0.005)),
        "task agent": (
            TASK_AGENT,
            Sleep(replay=0.0, archive_below=0.10, perishable=(*_FOUR, Kind.FACT, Kind.OPINION)),
        ),
        "personal assistant": (Dynamics(), Sleep()),
        "researcher": (RESEARCHER, Sleep(replay=0.02, archive_below=0.0)),
    }
)
"""Name of a preset to its settings; the other settings are the default ones."""
