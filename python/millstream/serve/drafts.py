"""Proposals as records: what is written to the log, and what the state applies."""

from __future__ import annotations

from typing import Any

from millstream._core import parse_json, write_json
from millstream.serve.batches import pack_labels
from millstream.serve.fates import Outcome
from millstream.serve.proposal import Proposal
from millstream.serve.records import Draft, Kind

__all__ = ["draft_of", "parsed_of", "subject_of"]


def draft_of(proposal: Proposal, screened: list[Outcome | None] | None, time: int) -> Draft:
    """The record of a proposal at a time."""
    body = proposal.body
    if proposal.kind == Kind.LABELS and screened is not None:
        body = pack_labels(parsed_of(proposal, screened))
    elif proposal.kind == Kind.LABEL:
        body = write_json(proposal.parsed).decode()
    number = 0 if proposal.stream is None else proposal.stream.number
    if proposal.kind == Kind.ADMIN and proposal.parsed:
        number = proposal.parsed
    return Draft(proposal.kind, time, number, proposal.id, body)


def subject_of(proposal: Proposal) -> str:
    """The name of the model or route of a record; empty if it has none."""
    if proposal.stream is not None:
        return proposal.stream.name
    if proposal.kind != Kind.ADMIN:
        return ""
    body = parse_json(proposal.body)
    return str(body.get("model") or body.get("route") or body.get("stream") or "")


def parsed_of(proposal: Proposal, screened: list[Outcome | None] | None) -> Any:
    """The content of the body that the state needs: the labels that passed screening, the features of an event, or
    the ids of a batch of events."""
    if proposal.kind == Kind.LABELS and screened is not None:
        return [body for body, outcome in zip(proposal.parsed, screened, strict=True) if outcome is None]
    return None if proposal.kind == Kind.ADMIN else proposal.parsed
