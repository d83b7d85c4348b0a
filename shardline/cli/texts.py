"""Answers in words, for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lineage.audit.rules import shown
from shardline.cli.output import printable, row


def run_text(facts: Mapping[str, Any]) -> Iterator[str]:
    """A run and everything upstream."""
    version, given = facts["version"], facts["given"]
    yield row("run", f"{facts['run']}  model {facts['model']}, begun {facts['begun']}")
    yield row("version", f"{version['name']}  {version['manifest']}")
    yield row("holds", f"{version['documents']:,} documents, {version['tokens']:,} tokens")
    for item in facts["approvals"]:
        yield row("approved", f"{item['time']} by {item['approver']}")
    if not facts["approved_when_read"]:
        yield row("approved", "nobody had approved this version when the run began")
    for source in facts["sources"]:
        yield row("source", _source(source))
    for transform in facts["transforms"]:
        yield row("transform", f"{transform['name']} revision {transform['revision']}")
    tokenizer = facts["tokenizer"]
    yield row("tokenizer", f"{tokenizer['num_ids']} ids, behaviour {tokenizer['behaviour']}")
    amount = f"{given['samples']:,} samples, {given['tokens']:,} tokens"
    yield row("given", f"{given['steps']:,} steps, {amount}")
    for item in facts["checkpoints"]:
        yield row("checkpoint", f"step {item['step']}  {item['checkpoint']}")
    yield from _environment(facts["environment"])
    yield from _base(facts["base_checkpoint"])
    yield row("keys released", f"ledger entries {facts['keys_released']}")


def runs_text(facts: Mapping[str, Any]) -> Iterator[str]:
    """All runs, a line each."""
    for run in facts["runs"]:
        done = f"{run['steps']} steps, checkpoints: {run['checkpoints']}"
        yield f"{run['run']}  {run['model']}  {run['version']}  {run['begun']}  {done}"
    if not facts["runs"]:
        yield "no runs"


def documents_text(facts: Mapping[str, Any]) -> Iterator[str]:
    """Documents with their versions and runs."""
    yield row("documents", f"{facts['num_documents']:,} found")
    for document in facts["documents"]:
        yield row("document", document["document_id"])
        yield from _decision(document["last_decision"])
        for version in document["versions"]:
            samples = ", ".join(f"{first}-{last}" for first, last in version["samples"])
            where = f"{', '.join(version['shards'])} samples {samples}, {version['tokens']} tokens"
            yield row("  version", f"{version['version']}  {where}")
        if not document["versions"]:
            yield row("  version", "in none")
        for run in document["runs"]:
            yield row("  run", _given(run))
        if not document["runs"]:
            yield row("  run", "no run was given it")


def why_text(facts: Mapping[str, Any]) -> Iterator[str]:
    """Every decision on each document."""
    for document in facts["documents"]:
        yield row("document", document["document_id"])
        for decision in document["decisions"]:
            yield row("  in", decision["version"])
            yield from _decision(decision)
            yield from _measured(decision)
        for version, place in document["lies_in"].items():
            if place["shards"]:
                yield row("  lies in", f"{version}  {', '.join(place['shards'])}")


def quarantine_text(facts: Mapping[str, Any]) -> Iterator[str]:
    """What could not be read, a record a line."""
    yield row("version", facts["version"])
    yield row("quarantined", f"{facts['num_records']:,} records")
    for item in facts["records"]:
        place = f"{item['source']}, {printable(item['path'])} at {item['offset']}"
        yield row("  record", f"{place}: {item['reason']} ({item['detail']})")


def diff_text(facts: Mapping[str, Any]) -> Iterator[str]:
    """What changed between two versions."""
    yield row("from", facts["old"])
    yield row("to", facts["new"])
    yield row("unchanged", f"{facts['unchanged']:,} documents")
    for kind in ("added", "removed", "changed"):
        part = facts[kind]
        yield row(kind, f"{part['documents']:,} documents, {part['tokens']:,} tokens")
        for word in ("by_reason", "by_source"):
            for name, count in part[word].items():
                yield row(f"  {word.replace('_', ' ')}", f"{count:,} {name}")
        for item in part["listed"]:
            survivor = f", {item['survivor_id']} stands for it" if item["survivor_id"] else ""
            yield row("  document", f"{item['document_id']}  {item['reason']}{survivor}")


def verify_text(facts: Mapping[str, Any]) -> Iterator[str]:
    """What was checked, and what is wrong."""
    checked = facts["checked"]
    yield row("checked", ", ".join(f"{count:,} {name}" for name, count in checked.items()))
    for finding in facts["findings"]:
        yield row("WRONG", f"{finding['where']}: {finding['what']}")
    yield row("result", "sound" if facts["sound"] else f"{len(facts['findings'])} findings")


def _source(source: Mapping[str, Any]) -> str:
    amount = f"{source['documents']:,} documents, {source['tokens']:,} tokens"
    return f"{source['source']}  {source['licence']}  {source['class']}  {amount}"


def _environment(facts: Mapping[str, Any]) -> Iterator[str]:
    yield row("environment", f"Python {facts['python']}, {facts['platform']}")
    code, packages = facts["code"], facts["packages"]
    if code is not None:
        state = "with uncommitted changes" if code["dirty"] else "clean"
        yield row("code", f"commit {code['commit']}, {state}")
    yield row("packages", f"{len(packages)} recorded; see --json")
    accelerator = facts["accelerator"]
    yield row("accelerator", "none" if accelerator is None else ", ".join(accelerator["devices"]))


def _base(facts: Mapping[str, Any] | None) -> Iterator[str]:
    if facts is None:
        return
    known = "recorded here" if facts["recorded_here"] else "not recorded here: unknown origin"
    yield row("started from", f"{facts['checkpoint']}  {known}")
    if "upstream" in facts and "run" in facts["upstream"]:
        yield row("  saved by", f"run {facts['run']} at step {facts['step']}, itself:")
        yield from (f"  {line}" for line in run_text(facts["upstream"]))


def _decision(decision: Mapping[str, Any] | None) -> Iterator[str]:
    if decision is None:
        return
    rule = f" by {decision['rule']}" if decision["rule"] else ""
    measured = f" ({decision['value']} against {decision['threshold']})"
    yield row("  decided", decision["verdict"] + rule + (measured if decision["value"] else ""))
    if decision["path"] is not None:
        path = printable(decision["path"])
        place = f"{decision['source']}, {path} at {decision['offset']}"
        yield row("  lies at", place)
    if decision["edits"]:
        yield row("  edited", decision["edits"])
    if decision["survivor_id"] and decision["survivor_id"] != decision["document_id"]:
        yield row("  survivor", decision["survivor_id"])


def _measured(decision: Mapping[str, Any]) -> Iterator[str]:
    """What every rule says of the document, and what was measured besides."""
    for rule in decision["rules"]:
        threshold = rule["threshold"]
        words = " ".join(threshold) if isinstance(threshold, list) else ""
        limit = words or shown(rule["signal"], threshold)
        value = shown(rule["signal"], rule["value"])
        word = "passes" if rule["passes"] else "FAILS"
        yield row("  rule", f"{word} {rule['rule']}: {value} {rule['keeps']} {limit}")
    judged = {rule["signal"] for rule in decision["rules"]}
    for name, value in decision["signals"].items():
        if name not in judged and value is not None:
            yield row("  signal", f"{name} {shown(name, value)}")


def _given(run: Mapping[str, Any]) -> str:
    first = run["first_checkpoint"]
    saw = f"first checkpoint: step {first['step']}" if first else "no checkpoint holds it"
    if not run["times"]:
        return f"{run['model']} ({run['run'][:8]})  had its keys, was not given it"
    times = f"{run['times']} times" if run["times"] != 1 else "once"
    begun = f"first at step {run['first_step']}"
    return f"{run['model']} ({run['run'][:8]})  given {times}, {begun}; {saw}"
