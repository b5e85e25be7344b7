// Package schema defines the database schema as numbered migrations. Each migration runs once, in its own transaction,
// and is recorded with its checksum. A new database is created from whole.sql, the combined result of all migrations.
// 0001 to 0003 are the base (identity; newsletter; devices and models). 0004 adds the send service, 0005 agents and
// device columns, 0006 model visibility and shares. Others follow.
//
// The package opens no files. Package store passes it a writable connection.
//
// Times are integer milliseconds in columns whose names end in _at. They are NOT NULL, and 0 means never. Tables are
// STRICT, and WITHOUT ROWID if the key is text. For the reasons, see docs/decisions/0193-shape-of-the-tables.md.
package schema
