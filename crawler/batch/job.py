"""A batch job from its inputs to its tables: `run_batch` is its main flow, `scrapy batch` its command."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from xxhash import xxh3_128_hexdigest

from cleaning import METHODS
from crawler.batch import addresses
from crawler.batch.clean_file import UNDECIDED, CleaningRules, clean_file
from crawler.batch.clean_record import RecordTask
from crawler.batch.columns import PAGES
from crawler.batch.duplicates import pages, stages
from crawler.batch.duplicates.decisions import BLOCKS_PER_TASK, PageComparisonMode
from crawler.batch.duplicates.pages import PAGE_PREFIX
from crawler.batch.duplicates.plan import Plan
from crawler.batch.duplicates.stages import BAND_ROWS_MAX
from crawler.batch.engine import Engine, LocalEngine, RayEngine, SerialEngine, Task
from crawler.batch.filters import RecordFilter
from crawler.batch.finish import finish_range
from crawler.batch.inputs import InputFile, InputKind, find_inputs
from crawler.batch.output import OutputFolder
from crawler.config import DIRECTIVE_SETTINGS
from crawler.errors import BatchError, ConfigError
from crawler.fetching.answers import LostAnswer
from crawler.fetching.replay import ReplayMiss
from crawler.fetching.warc import Damage
from crawler.reading.conditions import RowConditions, read_conditions
from crawler.visit import TextForm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from crawler.config import Config

_JOB_FILE = "batch.json"
_SUMMARY_FILE = "summary.json"

_VERSION = 4
_MEGABYTE = 1_000_000
_SETTINGS = (
    "CLEANING_METHOD",
    "CLEANING_OPTIONS",
    "CLEANING_SECONDS",
    "PAGE_MAX_BYTES",
    "FINGERPRINT_WEIGHTING",
    "FINGERPRINT_MIN_TERMS",
    "DEDUP_SCOPE",
    "STRUCTURE",
    *DIRECTIVE_SETTINGS,
)
_SCOPES = ("all", "page", "off")


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """How far a job is: its stage with the tasks that are done, and the records and pages that are read.

    `seconds_left` estimates the rest of the stage; None before its first task is done.
    """

    stage: str
    done: int
    tasks: int
    records: int = 0
    pages: int = 0
    seconds: float = 0.0
    seconds_left: float | None = None


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """The inputs, output and rules of a job. Only `engine`, `workers` and `ray_address` may change if it is continued.

    `settings` are the settings of a crawl that cleaning reads, see `batch_settings`. `memory` limits the MB that a page
    may take; 0 sets no limit. With 0 `workers` the engine `local` runs its tasks in this process, and `ray` uses all
    cores of the cluster. `blocks_per_task` bounds the memory of the later stages. `text_form` is for the setting
    STRUCTURE. `site_models` are the models of sites that readers have taught, in JSON. `where`
    are conditions on the columns of PAGES that are known when a page is cleaned.
    """

    inputs: Sequence[str]
    out: str
    settings: Mapping[str, Any]
    base: str = ""
    records: RecordFilter = RecordFilter()  # noqa: RUF009 — frozen
    near_duplicates: bool = False
    page_duplicates: PageComparisonMode | None = None
    memory: int = 2_000
    engine: str = "local"
    workers: int = 1
    ray_address: str | None = None
    resume: bool = False
    blocks_per_task: int = BLOCKS_PER_TASK
    text_form: TextForm = TextForm()  # noqa: RUF009 — frozen
    site_models: Mapping[str, str] = field(default_factory=dict)
    where: Sequence[str] = ()

    @property
    def page_mode(self) -> PageComparisonMode:
        """How pages are compared; by default as blocks are."""
        if self.page_duplicates is not None:
            return self.page_duplicates
        if self.settings["DEDUP_SCOPE"] != "all":
            return PageComparisonMode.OFF
        return PageComparisonMode.NEAR if self.near_duplicates else PageComparisonMode.EXACT


@dataclass(frozen=True, slots=True)
class BatchSummary:
    """The result of a job: its counts, the input files and the seconds of this run."""

    out: str
    files: int
    seconds: float
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def lost(self) -> dict[str, int]:
        """The records that should have had a page and have none, by reason."""
        names = ("visit/cleaning_failed", "visit/cleaning_timeout", "visit/download_failed", "file/unreadable")
        losses = (*Damage, *LostAnswer, ReplayMiss.MISSING_FILE, ReplayMiss.DAMAGED_FILE)
        wanted = {*names, *(f"record/{word}" for word in losses)}
        return {name: count for name, count in self.counts.items() if name in wanted}


def batch_settings(config: Config, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a crawl that a job needs, from a configuration and Scrapy's settings.

    Raises ConfigError for a method that needs a browser or a whole site, and for DEDUP_SCOPE=site.
    """
    method = METHODS[config.cleaning_method]
    if config.site_models:
        raise ConfigError("SITE_MODELS is set; a batch job takes the file as --site-models FILE")
    if method.needs:
        raise ConfigError(
            f"CLEANING_METHOD is {config.cleaning_method}, which needs a {method.needs}; a batch job has none: choose "
            "another --method"
        )
    if config.dedup_scope not in _SCOPES:
        raise ConfigError(f"DEDUP_SCOPE is {config.dedup_scope!r}; a batch job takes {', '.join(_SCOPES)}")
    chosen = {name: getattr(config, name.lower()) for name in _SETTINGS}
    chosen["CLEANING_OPTIONS"] = dict(config.cleaning_options)
    chosen["DEDUP_DISTANCE"] = config.dedup_distance
    return chosen | {name: settings.get(name) for name in ("USER_AGENT", "ROBOTSTXT_USER_AGENT")}


def run_batch(options: BatchOptions, report: Callable[[BatchProgress], None] = lambda _progress: None) -> BatchSummary:
    """Run a job to its end, or continue it, and return its summary; `report` hears how far it is.

    Raises BatchError if an input cannot be found, the output folder holds something else, or a task fails repeatedly,
    QueryError for conditions that no page can meet and ConfigError for a mask that cannot be used.
    """
    started = time.monotonic()
    _read_where(options.where)
    job = _open_job(options)
    with job.output.locked(_JOB_FILE):
        if not job.output.exists(_SUMMARY_FILE):
            job.output.remove_abandoned()
            counts = _run_stages(job, options, report)
            job.output.write_json(_SUMMARY_FILE, {"version": _VERSION, "counts": dict(counts)})
        job.output.remove_abandoned()
        job.output.remove("work")
        return _summary(job, job.output.read_json(_SUMMARY_FILE)["counts"], started)


def _read_where(texts: Sequence[str]) -> RowConditions:
    return read_conditions(texts, {field.name: str(field.type) for field in PAGES if field.name not in UNDECIDED})


def _run_stages(job: _Job, options: BatchOptions, report: Callable[[BatchProgress], None]) -> Counter[str]:
    engine = _start_engine(options, job.output)
    try:
        counts = _Stages(job, options, engine, report).run()
        counts["tasks/restarts"] = getattr(engine, "restarts", 0)
    finally:
        engine.close()
    return counts


@dataclass(frozen=True, slots=True)
class _Job:
    """A job as its folder describes it."""

    output: OutputFolder
    files: list[InputFile]
    started: datetime


def _open_job(options: BatchOptions) -> _Job:
    output = OutputFolder(options.out)
    if not output.exists(_JOB_FILE):
        if not output.is_empty():
            raise BatchError(f"--out is {options.out!r}, which is not empty and holds no batch job; choose another OUT")
        files = find_inputs(options.inputs, options.base)
        job = _Job(output, files, datetime.now(UTC))
        output.write_json(_JOB_FILE, _describe(job, options))
        return job
    if not options.resume:
        raise BatchError(f"--out is {options.out!r}, which holds a batch job; add --resume, or choose another OUT")
    described = output.read_json(_JOB_FILE)
    try:
        files = [
            InputFile(number, path, InputKind(kind), size)
            for number, (path, kind, size) in enumerate(described["files"])
        ]
        started = datetime.fromisoformat(described["started"])
    except (KeyError, TypeError, ValueError) as error:
        raise BatchError(f"{_JOB_FILE} in {options.out!r} is damaged: it describes no job") from error
    job = _Job(output, files, started)
    description = _describe(job, options)
    for name in [name for name in description if name not in {"started", "files"}]:
        if described.get(name) != description[name]:
            raise BatchError(
                f"--out is {options.out!r}, which holds a job with {name} {described.get(name)!r}, "
                f"not {description[name]!r}; give the same options, or choose another OUT"
            )
    return job


def _describe(job: _Job, options: BatchOptions) -> dict[str, Any]:
    """Return the description of a job as JSON reads it back."""
    rules = options.records
    return {
        "version": _VERSION,
        "started": job.started.isoformat(),
        "inputs": list(options.inputs),
        "base": options.base,
        "files": [[file.path, file.kind.value, file.size] for file in job.files],
        "filter": {
            "hosts": list(rules.hosts),
            "urls": list(rules.urls),
            "since": rules.since and rules.since.isoformat(),
            "until": rules.until and rules.until.isoformat(),
            "types": list(rules.types),
            "statuses": list(rules.statuses),
        },
        "settings": dict(options.settings),
        "near_duplicates": options.near_duplicates,
        "page_duplicates": options.page_mode.value,
        "memory": options.memory,
        "blocks_per_task": options.blocks_per_task,
        "text_form": asdict(options.text_form),
        "where": list(options.where),
        "site_models": xxh3_128_hexdigest(repr(sorted(options.site_models.items())).encode())
        if options.site_models
        else None,
    }


def _start_engine(options: BatchOptions, output: OutputFolder) -> Engine:
    if options.engine == "ray":
        return RayEngine(output, options.workers, options.ray_address)
    return LocalEngine(output, options.workers) if options.workers else SerialEngine(output)


def _summary(job: _Job, counts: dict[str, int], started: float) -> BatchSummary:
    return BatchSummary(job.output.path, len(job.files), time.monotonic() - started, dict(sorted(counts.items())))


class _Stages:
    """The stages of a job in their order; the counts of their tasks are added up."""

    def __init__(
        self, job: _Job, options: BatchOptions, engine: Engine, report: Callable[[BatchProgress], None]
    ) -> None:
        self._job = job
        self._options = options
        self._engine = engine
        self._report = report
        self._counts: Counter[str] = Counter()

    def run(self) -> Counter[str]:
        plan = Plan.of(self._clean_files(), self._max_distance(), self._options.blocks_per_task)
        # 1. Which answer of each URL counts, and which stated addresses are believed.
        self._each("addresses", addresses.send_addresses, plan)
        self._each("repeated", addresses.find_repeated, plan)
        self._each("claims", addresses.send_claims, plan)
        self._each("decided", addresses.decide_claims, plan)
        if plan.max_distance is not None:
            # 2. Which blocks have the same terms, and which fingerprints occur.
            self._each("keys", stages.send_keys, plan)
            self.join(plan)
        # 6. Which pages repeat another one.
        self._compare_pages(plan)
        # 7. The tables.
        self._each("tables", finish_range, plan, self._options.page_mode)
        return self._counts

    def _compare_pages(self, plan: Plan) -> None:
        mode = self._options.page_mode
        near = mode is PageComparisonMode.NEAR
        page_plan = replace(plan, prefix=PAGE_PREFIX, max_distance=self._near_distance() if near else None)
        if mode is not PageComparisonMode.OFF:
            self._each("keys", pages.send_page_keys, page_plan)
            self.join(page_plan)

    def join(self, plan: Plan) -> Counter[str]:
        """Find the sightings among the blocks whose keys were sent; return the counts so far."""
        self._each("groups", stages.group_keys, plan)
        rounds = self._compare(plan) if plan.max_distance else 0
        # 5. The original of each sighting.
        self._each("sightings", stages.send_sightings, plan, rounds)
        return self._counts

    def _compare(self, plan: Plan) -> int:
        """Decide which leaders are originals; return the number of rounds that this takes."""
        # 3. Which leaders are near each other.
        self._each("bands", stages.count_bands, plan)
        rows_max = BAND_ROWS_MAX * self._options.blocks_per_task // BLOCKS_PER_TASK
        self._run([Task(f"{plan.prefix}heavy", 0, stages.find_heavy_bands, (plan, rows_max))])
        self._each("leaders", stages.send_leaders, plan)
        count = plan.partitions + stages.heavy_tasks(self._job.output, plan)
        compare = f"{plan.prefix}compare"
        self._run([Task(compare, number, stages.compare_bands, (plan, number)) for number in range(count)])
        # 4. Which of them are originals.
        rounds = 0
        while True:
            before = self._counts[f"{plan.prefix}undecided"]
            self._each(f"round-{rounds}", stages.decide_leaders, plan, rounds)
            undecided = self._counts.pop(f"{plan.prefix}undecided") - before
            rounds += 1
            if not undecided:
                return rounds

    def _max_distance(self) -> int | None:
        """Return the largest distance between duplicates of different pages; None if only equal texts are compared."""
        if self._options.settings["DEDUP_SCOPE"] != "all":
            return None
        return self._near_distance() if self._options.near_duplicates else 0

    def _near_distance(self) -> int:
        return int(self._options.settings["DEDUP_DISTANCE"])

    def _clean_files(self) -> list[int]:
        """Clean all input files; return the number of kept blocks of each."""
        options = self._options
        distance = options.settings["DEDUP_DISTANCE"] if options.near_duplicates else 0
        settings = dict(options.settings) | {"DEDUP_DISTANCE": distance}
        memory_bytes = options.memory * _MEGABYTE
        record_task = RecordTask(
            settings,
            settings["CLEANING_SECONDS"],
            memory_bytes,
            options.text_form,
            dict(options.site_models),
        )
        conditions = _read_where(options.where)
        rules = CleaningRules(options.records, record_task, settings["PAGE_MAX_BYTES"], self._job.started, conditions)
        blocks = [0] * len(self._job.files)
        tasks = [Task("clean", file.number, clean_file, (file, rules), cleans=True) for file in self._job.files]
        for task, counts in self._run(tasks):
            blocks[task.number] = counts.get("blocks", 0)
        return blocks

    def _each(self, stage: str, function: Callable[..., dict[str, int]], plan: Plan, *arguments: Any) -> None:
        """Run a function for each partition of the plan."""
        name = plan.prefix + stage
        self._run([Task(name, number, function, (plan, *arguments, number)) for number in range(plan.partitions)])

    def _run(self, tasks: Sequence[Task]) -> list[tuple[Task, dict[str, int]]]:
        """Run the tasks that are not done yet; return all with their counts, which are added up."""
        known = set(self._job.output.names("work/done"))
        done = [(task, self._job.output.read_json(task.done_name)) for task in tasks if _base_name(task) in known]
        open_tasks = [task for task in tasks if _base_name(task) not in known]
        meter = _Meter(tasks, done, self._sizes(), self._report)
        for task, counts in self._engine.run(open_tasks, meter.hear):
            done.append((task, counts))
            meter.finish(task, counts)
        for task, counts in done:
            prefix = PAGE_PREFIX if task.stage.startswith(PAGE_PREFIX) else ""
            self._counts.update({prefix + name: count for name, count in counts.items()})
        return done

    def _sizes(self) -> list[int]:
        return [file.size for file in self._job.files]


def _base_name(task: Task) -> str:
    return task.done_name.rpartition("/")[2]


class _Meter:
    """Adds up how far the tasks of a stage are."""

    def __init__(
        self,
        tasks: Sequence[Task],
        done: Iterable[tuple[Task, dict[str, int]]],
        sizes: Sequence[int],
        report: Callable[[BatchProgress], None],
    ) -> None:
        self._tasks = tasks
        self._report = report
        self._started = time.monotonic()
        cleans = bool(tasks) and tasks[0].cleans
        known = cleans and all(sizes)
        self._sizes = {task.number: sizes[task.number] if known else 1 for task in tasks}
        self._left = sum(self._sizes.values())
        self._records: Counter[int] = Counter()
        self._pages: Counter[int] = Counter()
        self._done = 0
        for task, _ in done:
            self._done += 1
            self._left -= self._sizes[task.number]
        self._first_left = self._left

    def hear(self, task: Task, records: int, pages: int) -> None:
        """Take over how far a task is."""
        self._records[task.number], self._pages[task.number] = records, pages
        self._tell(task)

    def finish(self, task: Task, counts: Mapping[str, int]) -> None:
        """Count a task that is done."""
        self._done += 1
        self._left -= self._sizes[task.number]
        self._records[task.number] = counts.get("records", 0)
        self._pages[task.number] = counts.get("pages", 0)
        self._tell(task)

    def _tell(self, task: Task) -> None:
        seconds = time.monotonic() - self._started
        worked = self._first_left - self._left
        left = seconds * self._left / worked if worked else None
        records = self._records.total()
        pages = self._pages.total()
        self._report(BatchProgress(task.stage, self._done, len(self._tasks), records, pages, seconds, left))
