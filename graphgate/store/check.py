"""Whether a store is as it was written: every file of every version, and every row of the last."""

from typing import NamedTuple

from graphgate.errors import InputError, listing
from graphgate.estimators.loading import Estimator
from graphgate.store.checksums import damage
from graphgate.store.consistency import problems_of
from graphgate.store.database import Database
from graphgate.store.layout import entries, read_identity
from graphgate.store.versions import Version, read_version, version_numbers


class StoreCheck(NamedTuple):
    """What `Store.check` has read and found.

    n_versions, n_files, n_bytes : how much was read.
    n_unneeded : files that no version consists of, as interrupted writers leave them; `Store.prune`
        removes them.
    problems : a sentence for each; empty if the store is as it was written.
    """

    n_versions: int
    n_files: int
    n_bytes: int
    n_unneeded: int
    problems: list[str]


def checked(database: Database) -> StoreCheck:
    """Read all files of a store again, and the tables and models of its last version."""
    folder, problems = database.folder, []
    lost, numbers = read_identity(folder).last, version_numbers(folder)
    versions: list[Version] = []
    for number in numbers:
        try:
            versions.append(read_version(folder, number))
        except InputError as error:
            problems.append(str(error))
    first = versions[-1].first if versions else numbers[0]
    versions = [version for version in versions if version.version >= first]
    lacking = sorted(set(range(first, max(lost, numbers[-1]) + 1)) - set(numbers))
    problems += [f"version {number} is missing" for number in lacking]
    files = {file: code for version in versions for file, code in version.files.items()}
    for file, code in files.items():
        if (seen := damage(folder / file, code, again=True)) is not None:
            users = [str(version.version) for version in versions if file in version.files]
            problems.append(f"{file} {seen}; versions that need it: {listing(users)}")
    if not problems:
        try:
            Estimator.load(database.model(versions[-1]))
            problems += problems_of(database.snapshot(versions[-1]), versions[-1].details)
        except InputError as error:
            problems.append(str(error))
    unneeded = [entry for entry in entries(folder) if entry.content and entry.name not in files]
    sizes = [int(code.partition("-")[0]) for code in files.values()]
    return StoreCheck(len(versions), len(files), sum(sizes), len(unneeded), problems)
