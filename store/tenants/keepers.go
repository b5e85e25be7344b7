package tenants

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
)

const insertKeeper = "INSERT OR IGNORE INTO keeper (record, actor) VALUES (?, ?)"

// Keep records the keepers of a client or webhook endpoint: the actor, and the client that the user acts through.
func Keep(tx *db.Tx, record, actor string) error {
	for _, by := range []string{actor, tx.ActingClient()} {
		if by == "" {
			continue
		}
		if _, err := tx.Exec(insertKeeper, record, by); err != nil {
			return err
		}
	}
	return nil
}

// RecordKeepers is the SQL expression for the column with the keepers of the client or webhook endpoint that a
// statement reads.
const RecordKeepers = ", (SELECT json_group_array(actor) FROM keeper INDEXED BY sqlite_autoindex_keeper_1 WHERE record = id) AS keepers"

// KeptBy starts a statement with the table kept: the ids of the clients and webhook endpoints that an actor ?1 keeps
// directly or through other clients. It includes clients that are now disabled or deleted.
const KeptBy = `WITH RECURSIVE hand(actor) AS (SELECT ?1 UNION SELECT 'client:' || c.id FROM hand
	CROSS JOIN keeper AS k INDEXED BY keeper_actor ON k.actor = hand.actor CROSS JOIN client AS c ON c.id = k.record),
	kept(id) AS MATERIALIZED (SELECT DISTINCT k.record FROM hand CROSS JOIN keeper AS k INDEXED BY keeper_actor ON k.actor = hand.actor) `

// keepersOf is a query for the keepers of the clients ?1 (a JSON array of ids) and of the clients that keep them.
const keepersOf = `WITH RECURSIVE kept(id) AS (SELECT value FROM json_each(?1) UNION SELECT substr(k.actor, 8)
	FROM kept CROSS JOIN keeper AS k INDEXED BY sqlite_autoindex_keeper_1 ON k.record = kept.id WHERE k.actor LIKE 'client:%')
	SELECT DISTINCT k.actor FROM kept CROSS JOIN keeper AS k INDEXED BY sqlite_autoindex_keeper_1 ON k.record = kept.id ORDER BY 1`

// KeepersOf returns the keepers of the clients among some actors, as the audit log names them. Keepers are responsible
// for a client's actions, because they may hold its secret or get its tokens. The only error is core.ErrStorage.
func KeepersOf(q db.Querier, actors []string) (all []string, err error) {
	programs := core.Strings{}
	for _, actor := range actors {
		if id := core.ActorClient(actor); id != "" {
			programs = append(programs, id)
		}
	}
	if len(programs) > 0 {
		err = q.All(&all, keepersOf, programs.Column())
	}
	return all, err
}

// Acting returns everyone responsible for an actor's actions in ctx: the actor, the OAuth client that it acts
// through, and the client's keepers. The only error is core.ErrStorage.
func (s *Store) Acting(ctx context.Context, actor string) ([]string, error) {
	return Acting(s.Reads(ctx), actor, db.ActingClient(ctx))
}

// Acting is like Store.Acting, for an actor that acts through client. Both are written as in the audit log. If client is
// empty, the actor acts directly.
func Acting(q db.Querier, actor, client string) ([]string, error) {
	if client == "" {
		return []string{actor}, nil
	}
	keepers, err := KeepersOf(q, []string{client})
	return append([]string{actor, client}, keepers...), err
}
