"""The application: fetching, frontier, processing, storage, reading, commands."""

from blocksieve import gives_way

gives_way(__name__)
