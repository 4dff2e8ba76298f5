"""The application: fetching, frontier, processing, storage, reading, commands."""

from blocksieve import defer_to_project_package

defer_to_project_package(__name__)
