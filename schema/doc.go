// Package schema is the shape of the database file: numbered migrations. Each runs once, in a transaction of its own,
// and is recorded with its checksum. A new file is made of whole.sql, which has what all of them make. 0001 to 0003 are
// the base (identity; newsletter; devices and models), 0004 is the send service, 0005 agents and the columns of
// devices, 0006 the visibility of models and shares; later ones follow.
//
// The package opens no file: store hands it the writer's connection.
//
// Instants are integer milliseconds in columns that end in _at, NOT NULL, 0 for never. Tables are STRICT, and WITHOUT
// ROWID where the key is a text. The reasons are in docs/decisions/0193-shape-of-the-tables.md.
package schema
