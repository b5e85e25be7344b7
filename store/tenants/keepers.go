package tenants

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
)

const insertKeeper = "INSERT OR IGNORE INTO keeper (record, actor) VALUES (?, ?)"

// Keep notes who keeps a client or a webhook endpoint: the actor, and the client through which the user acts.
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

// RecordKeepers are the keepers of the row of a client or webhook endpoint that a statement reads, as a column.
const RecordKeepers = ", (SELECT json_group_array(actor) FROM keeper INDEXED BY sqlite_autoindex_keeper_1 WHERE record = id) AS keepers"

// KeptBy begins a statement with kept, the ids of clients and webhook endpoints that an actor ?1 keeps: itself, or
// through clients that it keeps, also of those that are disabled or deleted by now.
const KeptBy = `WITH RECURSIVE hand(actor) AS (SELECT ?1 UNION SELECT 'client:' || c.id FROM hand
	CROSS JOIN keeper AS k INDEXED BY keeper_actor ON k.actor = hand.actor CROSS JOIN client AS c ON c.id = k.record),
	kept(id) AS MATERIALIZED (SELECT DISTINCT k.record FROM hand CROSS JOIN keeper AS k INDEXED BY keeper_actor ON k.actor = hand.actor) `

// keepersOf reads the keepers of clients ?1, a JSON array of ids, and of the clients that keep those.
const keepersOf = `WITH RECURSIVE kept(id) AS (SELECT value FROM json_each(?1) UNION SELECT substr(k.actor, 8)
	FROM kept CROSS JOIN keeper AS k INDEXED BY sqlite_autoindex_keeper_1 ON k.record = kept.id WHERE k.actor LIKE 'client:%')
	SELECT DISTINCT k.actor FROM kept CROSS JOIN keeper AS k INDEXED BY sqlite_autoindex_keeper_1 ON k.record = kept.id ORDER BY 1`

// KeepersOf reads who keeps the clients among some actors, as the audit trail names them: what a program does is
// theirs, since they may hold its secret, or get its tokens. Its only error is core.ErrStorage.
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

// Acting reads those whose act it is what an actor does in the context: its own, that of the OAuth client that it acts
// through, and that of the client's keepers. Its only error is core.ErrStorage.
func (s *Store) Acting(ctx context.Context, actor string) ([]string, error) {
	return Acting(s.Reads(ctx), actor, db.ActingClient(ctx))
}

// Acting is Store.Acting with the client, as the audit trail names it; empty: none.
func Acting(q db.Querier, actor, client string) ([]string, error) {
	if client == "" {
		return []string{actor}, nil
	}
	keepers, err := KeepersOf(q, []string{client})
	return append([]string{actor, client}, keepers...), err
}
