// Package schema is the shape of the file: numbered migrations, each run once in a transaction of its own
// and recorded with its checksum. 0001–0003 are the base (identity; newsletter; devices and models), 0004 the
// send service, 0005 agents and the device columns, 0006 model visibility and shares; what follows gets 0007 on.
//
// The package opens no file: store hands it the writer's connection.
//
// # Decisions
//
//   - 2026-11-21 Instants are integer milliseconds in columns ending in _at, NOT NULL, 0 for "never": no SQL null
//     has to be told from a value, and every comparison works. Rejected: nullable columns.
//   - 2026-11-21 STRICT everywhere, WITHOUT ROWID where the key is a text: one b-tree instead of two for the row.
//   - 2026-11-21 A subscription's id is derived from list and address, so (list_id, id) is its only key: the ids of an
//     address on all lists can be computed. An index on the address would say the same, and its random pages are what an import
//     spends its time on. The send side's subscriber has the same id and key: full syncs come in its order, and a sync of
//     200,000 wrote 0.1 GB instead of the 3.6 GB that a key by address cost.
//   - 2026-11-21 Recipients are keyed (job_no, seq) without an index on the state: a job is walked in order, and
//     only deferred ones need finding. Message-ID and bounce address carry (job_no, seq) themselves.
//   - 2026-11-21 The seen_ tables are rowid tables: the oldest rows are found without an index on the expiry.
package schema
