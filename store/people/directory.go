package people

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/members"
	"newsletterd/store/tenants"
)

// SearchReads is the maximum number of subscriptions that one page of MatchingSubscriptions reads. The maximum is
// fieldReads if the search parses the preferences of each subscription, and blockReads if it looks for blocks in other
// tables. searchLists is the maximum number of lists that one page searches.
const (
	SearchReads = 5000
	fieldReads  = 2000
	blockReads  = 1000
	searchLists = 200
)

// SubscriptionFilter selects subscriptions. The zero value of a field means any.
type SubscriptionFilter struct {
	Tenants []string
	All     bool   // whether to select subscriptions of all tenants
	ListID  string // only subscriptions to this list
	// Status is a subscription status, or core.StatusBounced, core.StatusComplaint or core.StatusSuppressed. The last
	// three select active subscriptions that are blocked. StatusSuppressed also selects unsubscribed ones, since
	// blocking an address ends its subscriptions.
	Status string
	Email  core.Email // only this address, which is found without a search
	Prefix string     // prefix of the folded address
	Field  string     // member of the preferences that must equal Value
	Value  string
	Search string // prefix of the address or of a word in the name
	// Sort is one of SubscriptionSorts; empty means sorted by list and id. The searched lists may have at most
	// core.MaxSorted subscriptions in total.
	Sort string
	// Rule selects the active subscriptions that a campaign to a segment with this rule would reach. The rule is
	// evaluated for each subscription's list as of Now. A filter with a Rule needs exactly one tenant, and must have no
	// Sort.
	Rule *core.Rule
	Now  core.Instant
}

// SubscriptionSorts are the sort orders of MatchingSubscriptions. A leading minus means descending order.
var SubscriptionSorts = []string{"email", "-email", "created_at", "-created_at", "status_at", "-status_at"}

// ListedSubscription is a subscription as list managers see it.
type ListedSubscription struct {
	core.Subscription
	TenantID string `db:"tenant_id"`
	Block    string `db:"block"` // why an active subscription gets no email; empty if it is not blocked
	// Mirrored is true if another member service manages the subscription. Only the send side's record of it is known.
	Mirrored bool     `db:"mirrored"`
	Tags     []string `db:"-"` // names of tags; set by ReadTags
	// when the person signed up and unsubscribed, maybe in another system; 0: unknown, or still subscribed. Set by
	// ReadSignups.
	SignedUpAt, LeftAt core.Instant `db:"-"`
}

// ReadSignups sets the SignedUpAt and LeftAt of rows. Its only error is core.ErrStorage.
func (s *Store) ReadSignups(ctx context.Context, rows []ListedSubscription) error {
	people, at := make([][2]string, len(rows)), map[[2]string]int{}
	for i := range rows {
		people[i], rows[i].SignedUpAt = [2]string{rows[i].ListID, rows[i].ID}, rows[i].CreatedAt
		if at[people[i]] = i; rows[i].Status == core.SubscriptionUnsubscribed {
			rows[i].LeftAt = cmp.Or(rows[i].ChangedAt, rows[i].CreatedAt)
		}
	}
	pairs, err := json.Marshal(people)
	if err != nil {
		return err
	}
	var said []struct {
		ListID   string `db:"list_id"`
		ID       string `db:"id"`
		What     string `db:"what"`
		Evidence string `db:"evidence"`

		At core.Instant `db:"at"`
	}
	err = s.All(ctx, &said, `SELECT c.list_id, c.subscription_id AS id, c.what, c.at, c.reason AS evidence
		FROM json_each(?) AS j
		CROSS JOIN consent AS c ON c.list_id = j.value->>0 AND c.subscription_id = j.value->>1
		WHERE +c.what IN (?, ?, ?) AND (c.reason <> '' OR +c.what = ?)`, string(pairs), core.ConsentImported,
		core.ConsentConfirmed, core.ConsentImportedLeft, core.ConsentImportedLeft)
	for _, c := range said {
		said, row := core.EvidenceTime(c.Evidence), &rows[at[[2]string{c.ListID, c.ID}]]
		switch {
		case c.What != core.ConsentImportedLeft:
			if said > 0 {
				row.SignedUpAt = min(row.SignedUpAt, said)
			}
		case c.At == row.LeftAt: // otherwise, the person subscribed and unsubscribed since
			if row.LeftAt = cmp.Or(said, row.LeftAt); row.SignedUpAt == c.At { // added by that import
				row.SignedUpAt = 0
			}
		}
	}
	return err
}

// ReadTags sets the Tags of rows. Its only error is core.ErrStorage.
func (s *Store) ReadTags(ctx context.Context, rows []ListedSubscription) error {
	people := make([][2]string, len(rows))
	for i := range rows {
		people[i] = [2]string{rows[i].ListID, rows[i].ID}
	}
	names, err := s.TagNames(ctx, people)
	for i := range rows {
		rows[i].Tags = names[people[i]]
	}
	return err
}

// Shown returns the status to display. For a blocked active subscription, this is the kind of block.
func (l *ListedSubscription) Shown() string {
	if l.Status == core.SubscriptionActive && l.Block != "" {
		return l.Block
	}
	return l.Status
}

const (
	blockOf = `coalesce(nullif(b.block, ''), (SELECT p.kind FROM suppression AS p WHERE p.tenant_id = l.tenant_id AND
		p.email_key = s.email_key), '')`
	listedColumns = members.SubscriptionColumns + ", l.tenant_id, " + blockOf + " AS block"
	listedJoin    = " LEFT JOIN subscriber AS b ON b.list_id = s.list_id AND b.id = s.id WHERE l.deleted_at = 0"
	// searchSpan counts a list's subscriptions after an id, up to a limit, and finds the last id.
	searchSpan = `SELECT count(*) AS reads, coalesce(max(id), '') AS last FROM (SELECT id FROM subscription
		WHERE list_id = ? AND id > ? ORDER BY id LIMIT +?)`
	// searchedLists selects the lists to search, sorted by id, starting with a given id.
	searchedLists   = "SELECT id FROM list WHERE deleted_at = 0 AND id >= ?1 ORDER BY id LIMIT +?2"
	searchedListsOf = `SELECT id FROM list INDEXED BY list_tenant WHERE deleted_at = 0 AND id >= ?1 AND tenant_id IN
		(SELECT value FROM json_each(?3)) ORDER BY id LIMIT +?2`
	listedOn = "SELECT " + listedColumns +
		` FROM list AS l CROSS JOIN subscription AS s ON s.list_id = l.id AND s.id = ?1` +
		listedJoin + " AND (?2 OR l.tenant_id IN (SELECT value FROM json_each(?3))) LIMIT 1"
	mirroredColumns = `SELECT b.list_id, b.id, b.email, b.word AS status, b.preferences, 0 AS generation, '' AS means,
		b.created_at, b.word_at AS changed_at, 0 AS event_at, l.tenant_id, b.block, 1 AS mirrored`
	mirroredOn = mirroredColumns + `
		FROM list AS l CROSS JOIN subscriber AS b ON b.list_id = l.id AND b.id = ?1
		WHERE l.deleted_at = 0 AND (?2 OR l.tenant_id IN (SELECT value FROM json_each(?3))) LIMIT 1`
	listedAmong = "SELECT " + listedColumns + ` FROM json_each(?) AS j CROSS JOIN list AS l ON l.id = j.value->>0
		CROSS JOIN subscription AS s ON s.list_id = l.id AND s.id = j.value->>1` + listedJoin
)

// searchList selects the first matches among a list's subscriptions, in a range of ids.
var searchList = "SELECT " + listedColumns + " FROM list AS l CROSS JOIN subscription AS s ON s.list_id = l.id" +
	listedJoin + ` AND l.id = ?1 AND s.id > ?2 AND s.id <= ?3
		AND (?4 = '' OR substr(s.email_key, 1, length(?4)) = ?4)
		AND (?5 = '' OR CAST(s.preferences ->> ?5 AS TEXT) = ?6)
		AND ` + db.ByName("s.email_key", 9) + `
		AND (?7 = '' OR s.status = iif(?7 IN ('pending', 'unsubscribed'), ?7, 'active')
			OR ?7 = 'suppressed' AND s.status = 'unsubscribed')
		AND (?7 = '' OR iif(s.status = 'active' OR ?7 = 'suppressed',
			coalesce(nullif(` + blockOf + `, ''), s.status), s.status) = ?7)
		ORDER BY s.id LIMIT +?8`

// ListedSubscription returns a subscription by its id, on the lists of the given tenants or, if all is true, of any
// tenant. If another member service manages the subscription, it returns the send side's record. If there is no such
// subscription, it returns core.ErrSubscriptionNotFound.
func (s *Store) ListedSubscription(ctx context.Context, id string, tenants []string, all bool) (l ListedSubscription,
	err error,
) {
	err = s.Get(ctx, &l, listedOn, id, all, db.JsonOf(tenants))
	if errors.Is(err, core.ErrNotFound) {
		err = s.Get(ctx, &l, mirroredOn, id, all, db.JsonOf(tenants))
	}
	return l, db.OrNotFound(err, core.ErrSubscriptionNotFound)
}

// MatchingSubscriptions returns a page of the subscriptions that match a filter, sorted by list and id. page.After is
// the value of next for the previous page. A call reads a limited number of records, so a page can be shorter than its
// limit, or empty, even if more pages follow. next is empty after the last page. With f.Sort, it returns
// core.ErrTooManyToSort if there are too many subscriptions. With a rule, it also returns the errors of
// audience.CountSegment. Its only other error is core.ErrStorage.
func (s *Store) MatchingSubscriptions(ctx context.Context, f SubscriptionFilter, page core.Page) (
	found []ListedSubscription, next string, err error,
) {
	if f.Rule != nil {
		return s.ruledSubscriptions(ctx, &f, page)
	}
	if f.Sort != "" && f.Email == "" { // an address has one subscription on each list
		return s.sortedSubscriptions(ctx, &f, page)
	}
	afterList, afterID, _ := strings.Cut(page.After, " ")
	lists := []string{f.ListID}
	if f.ListID == "" {
		lists = nil
		searched := tenants.TenantList{All: searchedLists, Among: searchedListsOf}
		if err = s.AllOf(ctx, &lists, &searched, f.Tenants, f.All, afterList, searchLists+1); err != nil {
			return nil, "", err
		}
	}
	if f.Email != "" {
		if len(lists) > searchLists {
			lists, next = lists[:searchLists], lists[searchLists]+" "
		}
		found, err = s.listedAt(ctx, &f, lists)
		return found, next, err
	}
	reads := SearchReads
	if f.Field != "" || f.Search != "" {
		reads = fieldReads
	}
	switch f.Status {
	case "", core.SubscriptionPending, core.SubscriptionUnsubscribed:
	default:
		reads = blockReads
	}
	for i, list := range lists {
		if list != afterList {
			afterID = ""
		}
		if i == searchLists || reads == 0 || len(found) == page.Limit {
			return found, list + " " + afterID, nil
		}
		span := reads
		if f.Status == "" && f.Prefix == "" && f.Field == "" && f.Search == "" { // every record matches
			span = min(reads, page.Limit-len(found))
		}
		rows, last, n, err := s.searchIn(ctx, &f, list, afterID, span, page.Limit-len(found))
		if err != nil {
			return nil, "", err
		}
		found, reads = append(found, rows...), reads-n
		if last != "" {
			return found, list + " " + last, nil
		}
	}
	return found, "", nil
}

// searchIn reads at most span subscriptions of a list after an id and returns up to limit matches. If it stops before
// the end of the list, last is the id where it stopped.
func (s *Store) searchIn(ctx context.Context, f *SubscriptionFilter, list, after string, span, limit int) (
	rows []ListedSubscription, last string, reads int, err error,
) {
	var read struct {
		Reads int    `db:"reads"`
		Last  string `db:"last"`
	}
	if err = s.Get(ctx, &read, searchSpan, list, after, span); err != nil || read.Reads == 0 {
		return nil, "", 0, err
	}
	named := db.NewNameSearch(f.Search)
	err = s.All(ctx, &rows, searchList, append([]any{
		list, after, read.Last, f.Prefix, memberPath(f.Field), f.Value, f.Status, limit,
	}, named.Args()...)...)
	switch {
	case len(rows) == limit:
		last = rows[limit-1].ID
	case read.Reads == span:
		last = read.Last
	}
	return rows, last, read.Reads, err
}

// listedAt returns the subscriptions of one address. It needs no search, because the ids derive from the address.
func (s *Store) listedAt(ctx context.Context, f *SubscriptionFilter, lists []string) (
	found []ListedSubscription, err error,
) {
	pairs := make([][2]string, len(lists))
	for i, list := range lists {
		pairs[i] = [2]string{list, s.SubscriptionID(list, f.Email.Key())}
	}
	b, err := json.Marshal(pairs)
	if err == nil {
		err = s.All(ctx, &found, listedAmong, string(b))
	}
	return slices.DeleteFunc(found, func(l ListedSubscription) bool { return !f.matches(&l) }), err
}

// matches reports whether a subscription matches the filter.
func (f *SubscriptionFilter) matches(l *ListedSubscription) bool {
	ended := f.Status == string(core.StatusSuppressed) && l.Status == core.SubscriptionUnsubscribed &&
		l.Block == f.Status
	if f.Status != "" && l.Shown() != f.Status && !ended {
		return false
	}
	if !strings.HasPrefix(l.Email.Key(), f.Prefix) {
		return false
	}
	if named := db.NewNameSearch(f.Search); !named.Matches(&l.Subscription) {
		return false
	}
	return f.Field == "" || db.MemberText(l.Preferences.Values()[f.Field]) == f.Value
}

// memberPath returns the SQLite JSON path of an object member, or an empty string for an empty name.
func memberPath(name string) string {
	if name == "" {
		return ""
	}
	return `$."` + name + `"`
}

// NotePersonExport records in the audit log that someone exported all data that a tenant has about a person. Its only
// error is core.ErrStorage.
func (s *Store) NotePersonExport(ctx context.Context, tenantID string, email core.Email, actor string, now core.Instant,
) error {
	return s.Update(ctx, func(tx *db.Tx) error { return tx.Audit(now, actor, "person.export", tenantID, email.Mask()) })
}

// NoteRelayTest records in the audit log that a test email was sent to an address, and its outcome. Its only error is
// core.ErrStorage.
func (s *Store) NoteRelayTest(ctx context.Context, tenantID string, email core.Email, outcome, actor string,
	now core.Instant,
) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		tx.Tell("outcome", nil, outcome)
		return tx.Audit(now, actor, "relay.test", tenantID, email.Mask())
	})
}

// NoteJobExport records in the audit log that all recipients of a job were exported. Its only error is
// core.ErrStorage.
func (s *Store) NoteJobExport(ctx context.Context, j *core.SendJob, actor string, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error { return tx.Audit(now, actor, "recipient.export", j.TenantID, j.ID) })
}

// NoteSuppressionExport records in the audit log that a tenant's suppression list was exported. Its only error is
// core.ErrStorage.
func (s *Store) NoteSuppressionExport(ctx context.Context, tenantID, actor string, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		return tx.Audit(now, actor, "suppression.export", tenantID, tenantID)
	})
}

// NoteExport records in the audit log that all subscriptions of a list were exported. If there is no such list, it
// returns core.ErrListNotFound.
func (s *Store) NoteExport(ctx context.Context, listID, actor string, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		l, err := tenants.ReadList(tx, listID)
		if err != nil {
			return err
		}
		return tx.Audit(now, actor, "subscription.export", l.TenantID, l.ID)
	})
}
