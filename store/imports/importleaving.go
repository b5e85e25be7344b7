package imports

import (
	"encoding/binary"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/members"
	"newsletterd/store/tenants"
)

// Departure describes how to import a person who, according to the file, is not a subscriber. A Departure with neither
// Unsubscribed nor a Block means that the person never joined, and nothing is stored.
type Departure struct {
	Unsubscribed bool
	Block        core.Status  // core.StatusBounced, core.StatusComplaint, core.StatusSuppressed; empty means none
	LeftAt       core.Instant // when the person unsubscribed, according to the file; 0 if unknown
}

// departureBlocks lists the values of Departure.Block; a packed Departure contains an index into it.
var departureBlocks = [...]core.Status{core.NotBlocked, core.StatusBounced, core.StatusComplaint, core.StatusSuppressed}

// append packs a Departure for the spool.
func (d Departure) append(b []byte) []byte {
	code := uint64(0)
	for i, block := range departureBlocks {
		if block == d.Block {
			code = uint64(i) << 1
		}
	}
	if d.Unsubscribed {
		code |= 1
	}
	return binary.AppendVarint(binary.AppendUvarint(b, code), int64(d.LeftAt))
}

// readDeparture unpacks a Departure that append packed, and returns its size in bytes.
func readDeparture(b []byte) (d Departure, size int) {
	code, n := binary.Uvarint(b)
	at, m := binary.Varint(b[n:])
	return Departure{Unsubscribed: code&1 > 0, Block: departureBlocks[code>>1&3], LeftAt: core.Instant(at)}, n + m
}

// evidence returns the evidence for the ledger that a person unsubscribed in another system, or an empty string if the
// file has none.
func (d Departure) evidence() string {
	if d.LeftAt == 0 {
		return ""
	}
	return "unsubscribed " + d.LeftAt.Time().UTC().Format(time.RFC3339)
}

// splitLeft separates the rows of subscribers from the other rows and keeps their order.
func splitLeft(rows []ImportRow) (join, left []ImportRow) {
	first := 0
	for first < len(rows) && !rows[first].Left {
		first++
	}
	if first == len(rows) {
		return rows, nil
	}
	join = append(make([]ImportRow, 0, len(rows)), rows[:first]...)
	for i := range rows[first:] {
		if r := rows[first+i]; r.Left {
			left = append(left, r)
		} else {
			join = append(join, r)
		}
	}
	return join, left
}

// addLeft and addBarred write many rows of people who are not subscribers.
var (
	addLeft = db.InsertMany(`INSERT INTO consent (list_id, at, what, means, source, generation, subscription_id, reason)
		SELECT ?, ?, 'imported_unsubscribed', 'import', ?, 1, column1, column2 FROM `, 2,
		" WHERE true ON CONFLICT DO NOTHING")
	addBarred = db.InsertMany(`INSERT INTO suppression (tenant_id, reason, created_at, import_id, email_key, kind)
		SELECT ?, ?, ?, ?, column1, column2 FROM `, 2, " WHERE true ON CONFLICT DO NOTHING")
)

// leave imports rows of people who are not subscribers according to the file. The rows are sorted by id.
func (im *importing) leave(tx *db.Tx, rows []ImportRow) error {
	if len(rows) == 0 {
		return nil
	}
	erased, err := im.erasedAmong(rows)
	if err != nil {
		return err
	}
	there := map[string]*core.Subscription{}
	if im.list.ID != "" {
		if there, err = im.recordsOf(rows); err != nil {
			return err
		}
	}
	if im.tried != nil { // an earlier step of a dry run may contain rows of the same subscriber
		there[im.tried.ID] = im.tried
	}
	l := leaving{im: im, tx: tx, there: there}
	if l.blocks, err = blocksAmong(im.reads, im.list.TenantID, rows); err != nil {
		return err
	}
	for i := range rows {
		if r := &rows[i]; erased[r.key] != "" && there[r.id] == nil {
			im.counts.Kept++
		} else if err := l.row(r); err != nil {
			return err
		}
	}
	if im.DryRun {
		im.tried = there[rows[len(rows)-1].id]
		return nil
	}
	return l.write()
}

// leaving holds the state of importing a step's rows about people who are not subscribers.
type leaving struct {
	im     *importing
	tx     *db.Tx
	there  map[string]*core.Subscription
	blocks map[string]*block // the tenant's suppression list, by folded address
	added  []*ImportRow      // new subscriptions
	barred []*block          // addresses new on the suppression list
	words  []importWord
	owners map[string]bool // see owned
}

// row imports one row and counts it once: by its block if the block is new, otherwise by the change to the
// subscription.
func (l *leaving) row(r *ImportRow) error {
	sub := l.there[r.id]
	if sub == nil {
		sub = &core.Subscription{ID: r.id, ListID: l.im.list.ID}
	}
	joined, err := l.joined(sub)
	if err != nil {
		return err
	}
	count := &l.im.counts.Pending
	if r.Unsubscribed {
		if count, err = l.unsubscribe(r, sub, joined); err != nil {
			return err
		}
	}
	if r.Block == core.NotBlocked {
		*count++
		return nil
	}
	blocked, err := l.block(r, sub, joined)
	if err == nil && (blocked != &l.im.counts.Kept || !r.Unsubscribed) {
		count = blocked
	}
	*count++
	return err
}

// unsubscribe unsubscribes a person and returns the counter to increment.
func (l *leaving) unsubscribe(r *ImportRow, sub *core.Subscription, joined core.Instant) (*int64, error) {
	was, saved := *sub, ""
	what, change := sub.ImportLeft(r.Email, r.LeftAt, joined, l.im.at)
	switch what {
	case core.LeavingKept:
		l.im.stays(sub)
		return &l.im.counts.Kept, l.leftToo(r, sub)
	case core.LeavingAdded:
		l.there[r.id], l.added = sub, append(l.added, r)
		return &l.im.counts.Unsubscribed, nil
	case core.LeavingMarked:
		saved = was.Status
	case core.LeavingEnded:
		if !l.im.MayEnd {
			*sub = was
			l.im.stays(sub)
			return &l.im.counts.NotPermitted, l.leftToo(r, sub)
		}
		saved = was.Status
	}
	if l.im.DryRun {
		l.there[r.id] = sub
		return &l.im.counts.Unsubscribed, nil
	}
	if what == core.LeavingEnded {
		l.tx.Departs(l.im.list.TenantID)
	}
	l.im.note(sub.ID)
	if err := members.SaveSubscription(l.tx, saved, sub); err != nil || change == nil {
		return &l.im.counts.Unsubscribed, err
	}
	err := members.AddConsent(l.tx, core.Consent{
		ListID: sub.ListID, SubscriptionID: sub.ID, At: l.im.at, What: core.ConsentUnsubscribed, Proof: core.ProofImport,
		Origin: core.Origin{Source: l.im.source}, Generation: sub.Generation,
	})
	if err == nil {
		err = l.im.record(l.tx, r, sub, change, false)
	}
	return &l.im.counts.Unsubscribed, err
}

// block blocks an address and returns the counter to increment. It ignores a bounce if the person joined later, because
// the mailbox existed at that time.
func (l *leaving) block(r *ImportRow, sub *core.Subscription, joined core.Instant) (*int64, error) {
	stands := l.blocks[r.key]
	switch {
	case !l.im.MaySuppress:
		return &l.im.counts.NotPermitted, nil
	case r.Block == core.StatusBounced && sub.JoinedAfter(r.LeftAt, joined):
		return &l.im.counts.Kept, nil
	case stands == nil:
		stands = &block{Key: r.key, Kind: r.Block, ImportID: l.im.job, fresh: true}
		l.blocks[r.key], l.barred = stands, append(l.barred, stands)
	case stands.Kind >= r.Block: // alphabetical order is the order of strictness: bounced, complaint, suppressed
		return &l.im.counts.Kept, l.blockedToo(r, stands)
	default:
		if err := l.strengthen(r, stands); err != nil {
			return nil, err
		}
	}
	switch r.Block {
	case core.StatusBounced:
		return &l.im.counts.Bounced, nil
	case core.StatusComplaint:
		return &l.im.counts.Complained, nil
	}
	return &l.im.counts.Suppressed, nil
}

// joined returns when a person whom an earlier file made active joined, according to the latest time in the ledger. For
// anyone else, it returns 0.
func (l *leaving) joined(sub *core.Subscription) (at core.Instant, err error) {
	if sub.Status != core.SubscriptionActive || sub.Proof != core.ProofImport {
		return 0, nil
	}
	var reasons []string
	err = l.im.reads.All(
		&reasons,
		"SELECT reason FROM consent WHERE list_id = ? AND subscription_id = ? AND what = 'imported' "+
			"AND generation = ?",
		sub.ListID,
		sub.ID,
		sub.Generation,
	)
	for _, reason := range reasons {
		at = max(at, latestIn(reason))
	}
	return at, err
}

// latestIn returns the latest time in the evidence of a consent, such as "opted in 2019-05-01 09:58:00 from
// 203.0.113.9; confirmed 2019-05-01T10:00:00Z". A time without a zone is read as UTC.
func latestIn(evidence string) (at core.Instant) {
	words := strings.FieldsFunc(evidence, func(r rune) bool { return r == ' ' || r == ';' })
	for i, word := range words {
		text, layout := word, time.DateOnly
		switch {
		case len(word) > len(time.DateOnly):
			layout = time.RFC3339
		case i+1 < len(words) && strings.Count(words[i+1], ":") == 2 && len(words[i+1]) == len(time.TimeOnly):
			text, layout = word+" "+words[i+1], time.DateTime
		}
		if t, err := time.Parse(layout, text); err == nil {
			at = max(at, core.At(t))
		}
	}
	return at
}

// write stores the new subscriptions and the newly blocked addresses.
func (l *leaving) write() error {
	if len(l.added) > 0 {
		same := []any{
			l.im.list.ID, core.SubscriptionUnsubscribed, int64(1), core.ProofImport, int64(l.im.at), int64(l.im.at), int64(0),
		}
		err := l.tx.InsertMany(&addSubscriptions, same, len(l.added), func(args []any, i int) []any {
			r := l.added[i]
			return append(args, r.id, string(r.Email), r.key, string(core.NoPreferences))
		})
		if err != nil {
			return err
		}
		tenants.MovedMany(l.tx, l.im.list.ID, core.NotCounted, core.CountUnsubscribed, int64(len(l.added)))
		for _, r := range l.added {
			l.im.note(r.id)
		}
		same = []any{l.im.list.ID, int64(l.im.at), l.im.source}
		err = l.tx.InsertMany(&addLeft, same, len(l.added), func(args []any, i int) []any {
			return append(args, l.added[i].id, l.added[i].evidence())
		})
		if err != nil {
			return err
		}
	}
	if len(l.barred) > 0 {
		l.tx.Departs(l.im.list.TenantID)
	}
	l.im.barred += int64(len(l.barred))
	same := []any{l.im.list.TenantID, l.im.source, int64(l.im.now), l.im.job}
	err := l.tx.InsertMany(&addBarred, same, len(l.barred), func(args []any, i int) []any {
		return append(args, l.barred[i].Key, string(l.barred[i].Kind))
	})
	if err != nil {
		return err
	}
	return l.writeWords()
}

// blocksAmong returns the entries of a tenant's suppression list for the addresses of rows.
func blocksAmong(from db.Querier, tenantID string, rows []ImportRow) (map[string]*block, error) {
	keys, blocks := core.Strings(nil), map[string]*block{}
	for i := range rows {
		if rows[i].Block != core.NotBlocked {
			keys = append(keys, rows[i].key)
		}
	}
	if len(keys) == 0 {
		return blocks, nil
	}
	var found []block
	err := from.All(&found, `SELECT s.email_key, s.kind, s.reason, s.created_at, s.import_id FROM json_each(?2) AS j
		CROSS JOIN suppression AS s ON s.tenant_id = ?1 AND s.email_key = j.value`, tenantID, keys.Column())
	for i := range found {
		blocks[found[i].Key] = &found[i]
	}
	return blocks, err
}

// resume reactivates a subscription that the import ended. at is the instant when it did so.
func (u *undoing) resume(sub *core.Subscription, at core.Instant) error {
	off := false
	err := u.Get(&off, "SELECT EXISTS (SELECT 1 FROM disabled WHERE email_key = ?1 AND tenant_id = '') OR EXISTS (SELECT "+
		"1 FROM disabled WHERE email_key = ?1 AND tenant_id = ?2)", sub.Email.Key(), u.list.TenantID)
	if err != nil || off {
		u.kept++
		return err
	}
	was := sub.Status
	change, err := sub.Resume(at, u.at)
	if err != nil {
		u.kept++
		return nil
	}
	if err := u.resumeImported(sub); err != nil {
		return err
	}
	if err := members.SaveSubscription(u.Tx, was, sub); err != nil {
		return err
	}
	_, err = u.Exec("DELETE FROM consent WHERE list_id = ? AND subscription_id = ? AND at = ? AND what = 'unsubscribed'",
		sub.ListID, sub.ID, int64(at))
	if err != nil || change == nil {
		return err
	}
	err = u.hand(tenants.EventOf(u.list.TenantID, sub, change))
	u.resumed++
	return err
}
