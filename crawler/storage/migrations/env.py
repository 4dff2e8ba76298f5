"""Run the migrations on the connection that `crawler.storage.schema` passes, in its transaction."""

# ruff: noqa: INP001 — Alembic loads it by path

from alembic import context

from crawler.storage.tables import exists_on, metadata

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    render_as_batch=True,
    include_object=lambda item, *_: exists_on(item, connection.dialect.name),
)
with context.begin_transaction():
    context.run_migrations()
