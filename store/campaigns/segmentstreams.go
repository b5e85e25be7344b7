package campaigns

import (
	"errors"
	"slices"
	"sort"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/mailed"
)

// A rule needs a few columns of many rows. The query joins them into one string, because reading it costs a third of
// reading row by row. Lines end with char(30) and parts of a line with char(31), which stored ids, addresses and JSON
// never contain.
const (
	lineEnd = "\x1e"
	partEnd = "\x1f"
)

// Lines turns a query with the column line into a query that returns all lines as one string.
func Lines(query string) string {
	return "SELECT coalesce(group_concat(line, char(30)), '') FROM (" + query + ")"
}

// number parses an integer from the result of a query. For an empty string, it returns 0.
func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// idsOf returns the ids of subscribers as a JSON array.
func idsOf(subs []core.Subscriber) string {
	ids := make([]string, len(subs))
	for i := range subs {
		ids[i] = subs[i].ID
	}
	return db.JsonOf(ids)
}

// Mailed is a recipient of a job.
type Mailed struct {
	ID    string
	Sent  bool // whether the email was sent
	Got   bool // whether the email was sent, may have been sent or will be sent
	Marks core.Marks
}

// mailedLine is the SQL expression for the line that describes a recipient "r" of a job. The line contains the marks,
// after a digit for the outcome of the email. Most recipients got the email and did nothing, so their line is short.
const mailedLine = "iif(r.state = " + SqlRecipientSent + " AND r.marks < 2, '20' || char(31), concat(iif(r.state = " +
	SqlRecipientSent + ", 2, r.ambiguous > 0 OR r.state < " + SqlRecipientSent +
	"), r.marks, char(31))) || r.subscriber_id AS line"

var (
	mailedBetween = Lines("SELECT " + mailedLine +
		" FROM recipient AS r WHERE r.job_no = ?1 AND r.seq >= ?2 AND r.seq < ?3 ORDER BY r.seq")

	// mailedAmong is like mailedBetween, for the subscribers with the ids in a JSON array, in the order of the array.
	mailedAmong = Lines("SELECT " + mailedLine + ` FROM (SELECT ?1 AS no, ?2 AS low, ?3 AS high, value AS subscriber_id
		FROM json_each(?4)) AS j CROSS JOIN recipient AS r ON ` + IsRecipient)

	// clickedBetween selects recipients who clicked link ?4 themselves. Automated clicks don't count.
	clickedBetween = Lines(`SELECT r.subscriber_id AS line FROM engagement AS g CROSS JOIN recipient AS r ON
		r.job_no = g.job_no AND r.seq = g.seq WHERE g.job_no = ?1 AND g.seq >= ?2 AND g.seq < ?3 AND g.link_no = ?4
		AND g.class = ` + strconv.Itoa(int(core.ClassPerson)) + " ORDER BY g.seq")
)

// parseMailed parses lines in the form of mailedLine and appends them to rows.
func parseMailed(rows []Mailed, text string) []Mailed {
	for text != "" {
		var line string
		line, text, _ = strings.Cut(text, lineEnd)
		marks, id, _ := strings.Cut(line, partEnd)
		rows = append(rows, Mailed{
			ID: id, Sent: marks[0] == '2', Got: marks[0] != '0', Marks: core.Marks(number(marks[1:])),
		})
	}
	return rows
}

// Between returns the recipients of the job whose subscriber ids lie between two ids, including both. Recipients are in
// the order of these ids, so this reads one range.
func (j *MeasuredJob) Between(q db.Querier, first, last string) (rows []Mailed, err error) {
	low, high, err := j.between(q, first, last)
	if err != nil {
		return nil, err
	}
	var text string
	err = q.Get(&text, mailedBetween, j.No, low, high)
	return parseMailed(nil, text), err
}

// between returns the range of seqs that covers two subscriber ids. low is inclusive and high is exclusive.
func (j *MeasuredJob) between(q db.Querier, first, last string) (low, high int64, err error) {
	if err = q.Get(&low, firstFrom, j.No, j.Low, j.High, first); err == nil {
		err = q.Get(&high, firstFrom, j.No, low, j.High, last+"~")
	}
	return low, high, err
}

// oneByOne is a divisor. For up to 1/oneByOne of a range's recipients, individual lookups are faster than reading the
// whole range. Each lookup takes about 40 µs.
const oneByOne = 100

const idOfRecipient = "SELECT subscriber_id FROM recipient WHERE job_no = ? AND seq = ?"

// scan is a position among a job's recipients. Recipients before seq have no ids above after.
type scan struct {
	after string
	seq   int64
}

// mailed calls found for each of the subscribers who is a recipient of the job. The subscribers must be ordered by id.
// mailed may leave out subscribers whose indexes aren't wanted, and recipients who were sent nothing. It may also omit
// the marks of a recipient who has none of the given ones.
func (m *RuleMatch) mailed(q db.Querier, j *MeasuredJob, subs []core.Subscriber, wanted []int, marks core.Marks,
	found func(i int, r *Mailed),
) error {
	if len(wanted) == 0 {
		return nil
	}
	paged, err := m.mailedPages(q, j, subs, wanted, marks, found)
	if paged || err != nil {
		return err
	}
	return m.mailedRows(q, j, subs, wanted, found)
}

// setKeys stores the subscribers' search keys in m, for lookups in pages.
func (m *RuleMatch) setKeys(subs []core.Subscriber) {
	m.keys = m.keys[:0]
	if len(m.received)+len(m.links) == 0 && m.matcher.History == (core.History{}) {
		return
	}
	for i := range subs {
		k, ok := mailed.KeyOf(subs[i].ID)
		if !ok {
			m.keys = m.keys[:0]
			return
		}
		m.keys = append(m.keys, k)
	}
}

// mailedPages is like mailed, for a job whose recipients are stored in pages. For any other job, it returns false.
func (m *RuleMatch) mailedPages(q db.Querier, j *MeasuredJob, subs []core.Subscriber, wanted []int, marks core.Marks,
	found func(i int, r *Mailed),
) (done bool, err error) {
	if len(m.keys) == 0 {
		return false, nil
	}
	key := [2]int64{j.No, j.Low}
	cursor, known := m.pages[key]
	if !known {
		if cursor, err = mailed.NewCursor(q, j.No, j.Low, j.High); err != nil {
			return false, err
		}
		m.pages[key] = cursor
	}
	if cursor == nil {
		return false, nil
	}
	all, ok, err := cursor.Find(q, m.keys, wanted, func(i int) string { return subs[i].ID })
	if err != nil || !ok || len(all) == 0 {
		return ok, err
	}
	text := ""
	if marks != 0 {
		first, last := all[0].Seq, all[len(all)-1].Seq
		if int64(len(all))*oneMark > last-first {
			err = q.Get(&text, marksBetween, j.No, first, last, int(marks))
		} else {
			seqs := make([]int64, len(all))
			for i := range all {
				seqs[i] = all[i].Seq
			}
			err = q.Get(&text, marksAmong, j.No, db.JsonOf(seqs), nil, int(marks))
		}
	}
	marked := markReader{text: text}
	for _, r := range all {
		found(r.At, &Mailed{Sent: r.State == mailed.Sent, Got: true, Marks: marked.of(r.Seq)})
	}
	return true, err
}

// oneMark is a divisor. If fewer than 1/oneMark of a range's recipients are needed, it is faster to look up their marks
// one by one.
const oneMark = 8

// markBits is the number of bits of core.Marks.
const markBits = 10

var (
	selectMarks = "SELECT coalesce(group_concat(line, ' '), '') FROM (SELECT (seq << " + strconv.Itoa(markBits) +
		") | marks AS line"
	// marksBetween selects, as one string, a job's recipients between two seqs who have at least one of the marks in
	// ?4.
	marksBetween = selectMarks + ` FROM recipient AS r INDEXED BY recipient_marked WHERE job_no = ?1 AND seq >= ?2
		AND seq <= ?3 AND marks > 1 AND marks & ?4 <> 0 ORDER BY seq)`
	// marksAmong is like marksBetween, for the seqs in a JSON array.
	marksAmong = selectMarks + ` FROM json_each(?2) AS j CROSS JOIN recipient AS r INDEXED BY recipient_marked
		ON job_no = ?1 AND seq = j.value AND marks > 1 AND marks & ?4 <> 0)`
)

// markReader parses the result of marksBetween.
type markReader struct {
	text string
	seq  int64
	last core.Marks
}

// of returns the marks of the recipient with the given seq. Each call needs a higher seq than the last one.
func (r *markReader) of(seq int64) core.Marks {
	for r.seq < seq && r.text != "" {
		n, i := int64(0), 0
		for ; i < len(r.text) && r.text[i] != ' '; i++ {
			n = 10*n + int64(r.text[i]-'0')
		}
		r.text = r.text[min(i+1, len(r.text)):]
		r.seq, r.last = n>>markBits, core.Marks(n&(1<<markBits-1))
	}
	if r.seq != seq {
		return 0
	}
	return r.last
}

// mailedRows is like mailed, for a job without pages. It continues where it stopped for earlier subscribers.
func (m *RuleMatch) mailedRows(q db.Querier, j *MeasuredJob, subs []core.Subscriber, wanted []int,
	found func(i int, r *Mailed),
) error {
	var text string
	lookUp := func() error {
		ids := make([]string, len(wanted))
		for i, k := range wanted {
			ids[i] = subs[k].ID
		}
		err := q.Get(&text, mailedAmong, j.No, j.Low, j.High, db.JsonOf(ids))
		m.rows = parseMailed(m.rows[:0], text)
		merged(subs, m.rows, (*Mailed).id, found)
		return err
	}
	if len(wanted)*oneByOne <= len(subs) {
		return lookUp()
	}
	first, last := subs[0].ID, subs[len(subs)-1].ID
	key := [2]int64{j.No, j.Low}
	at, known := m.scans[key]
	for more := true; more; {
		if !known || first <= at.after {
			if err := q.Get(&at.seq, firstFrom, j.No, j.Low, j.High, first); err != nil {
				return err
			}
			var far string
			err := q.Get(&far, idOfRecipient, j.No, at.seq+int64(len(wanted))*oneByOne)
			if err == nil && far <= last {
				return lookUp()
			}
			if err != nil && !errors.Is(err, core.ErrNotFound) {
				return err
			}
		}
		end := min(at.seq+int64(len(subs)+len(subs)/8+8), j.High+1)
		if err := q.Get(&text, mailedBetween, j.No, at.seq, end); err != nil {
			return err
		}
		m.rows = parseMailed(m.rows[:0], text)
		n := len(m.rows)
		if known && n > 0 && m.rows[n-1].ID < first { // the subscribers are far from the earlier ones
			known = false
			continue
		}
		merged(subs, m.rows, (*Mailed).id, found)
		within := sort.Search(n, func(i int) bool { return m.rows[i].ID > last })
		known, at.after = true, ""
		if more = within == n && end <= j.High; more {
			at.seq = end
		} else {
			at.seq += int64(within)
		}
	}
	m.scans[key] = scan{last, at.seq}
	return nil
}

// merged calls found for each row that belongs to one of the subscribers. Rows and subscribers are sorted by id.
func merged[T any](subs []core.Subscriber, rows []T, idOf func(*T) string, found func(i int, row *T)) {
	at := 0
	for i := range rows {
		id := idOf(&rows[i])
		for at < len(subs) && subs[at].ID < id {
			at++
		}
		if at == len(subs) {
			return
		}
		if subs[at].ID == id {
			found(at, &rows[i])
		}
	}
}

func (r *Mailed) id() string { return r.ID }

// Bits for the subscriber data that a rule needs in addition to the id.
const (
	needKey = 1 << iota // the folded address
	needEmail
	needPreferences
	needWord
	needJoined // the start of the subscription
)

const (
	// subscriberLine is the SQL expression for the data of a subscriber "s" that a rule needs, as a line for
	// profileLines. The parameter ?7 has the bits.
	subscriberLine = `concat_ws(char(31), s.id, iif(?7 & 16, iif(s.joined_at = 0, s.created_at, s.joined_at), ''),
	iif(?7 & 8, s.word_at, ''), iif(?7 & 1, s.email_key, ''), iif(?7 & 2, s.email, ''), iif(?7 & 4, s.preferences, ''))`

	// preferencesLine is like subscriberLine, for a rule that needs only the preferences, as most do. It takes half the
	// time.
	preferencesLine = "s.id || char(31) || s.preferences"
)

// lineQuery reads subscribers as lines with the data that a rule needs: all of it, or only the preferences.
type lineQuery struct{ all, preferences string }

// linesOf returns queries that read subscribers "s" as lines. from is a FROM clause with the clauses after it. It may
// use the parameters up to ?6.
func linesOf(from string) lineQuery {
	return lineQuery{
		all:         Lines("SELECT " + subscriberLine + " AS line" + from),
		preferences: Lines("SELECT " + preferencesLine + " AS line" + from),
	}
}

// profileLines holds the unread lines of a list's subscribers, ordered by id, with the data that a rule needs.
type profileLines struct {
	list, text string
	short      bool // whether the lines have the form of preferencesLine
}

// readLines runs a query and returns its lines. needs holds the bits of the data to read. args are the parameters ?1 to
// ?6; the first is the list.
func readLines(q db.Querier, query *lineQuery, needs int, args ...any) (l profileLines, err error) {
	if needs&^needPreferences == 0 {
		l.short = true
		err = q.Get(&l.text, query.preferences, args...)
	} else {
		err = q.Get(&l.text, query.all, append(args, needs)...)
	}
	l.list, _ = args[0].(string)
	return l, err
}

// needs returns the bits of the data that the rule needs.
func (m *RuleMatch) needs() (bits int) {
	asks := m.asks && (m.matcher.History != core.History{} || len(m.links) > 0)
	for bit, needed := range map[int]bool{
		needPreferences: m.matcher.Preferences || asks, needEmail: m.matcher.Address, needWord: asks,
		needJoined: m.matcher.Joined, needKey: len(m.matcher.Lists)+len(m.received)+len(m.links)+len(m.polls) > 0,
	} {
		if needed {
			bits |= bit
		}
	}
	return bits
}

// next reads a line and sets the fields of s that the line contains.
func (l *profileLines) next(s *core.Subscriber) {
	var line string
	line, l.text, _ = strings.Cut(l.text, lineEnd)
	s.ID, line, _ = strings.Cut(line, partEnd)
	if !l.short {
		var joined, word, email string
		joined, line, _ = strings.Cut(line, partEnd)
		word, line, _ = strings.Cut(line, partEnd)
		s.EmailKey, line, _ = strings.Cut(line, partEnd)
		email, line, _ = strings.Cut(line, partEnd)
		s.Email = core.Email(email)
		s.JoinedAt, s.MemberStatusAt = core.Instant(number(joined)), core.Instant(number(word))
	}
	s.Preferences = core.Preferences(line)
}

// subscribers returns the subscribers of all lines.
func (l profileLines) subscribers() (subs []core.Subscriber) {
	for l.text != "" {
		subs = append(subs, core.Subscriber{ListID: l.list})
		l.next(&subs[len(subs)-1])
	}
	return subs
}

// Counted is the result of CountNext.
type Counted struct {
	Matches, All int    // number of subscribers who match, and of all who were read
	To           string // last id that was read
	More         bool   // whether there are more subscribers
}

// MailableOf is the rest of a query for the subscribers "s" of a list who would get a campaign. It selects those
// between two ids (both exclusive), ordered by id. Parameters 5 and 6 are those of Barred.
const MailableOf = ` FROM subscriber AS s ` + Barred + ` WHERE s.list_id = ?1 AND s.id > ?2 AND s.id < ?3
	AND ` + MayBeEmailed + " ORDER BY s.id LIMIT +?4"

var mailableNext = linesOf(MailableOf)

// CountNext counts the next subscribers of a list between two ids (both exclusive) who may be emailed and match. It
// leaves out those whose address may be emailed through an earlier list. The parameter most is the maximum number of
// subscribers that it reads. If all is false, it may skip those who can't match, and doesn't count them.
func (m *RuleMatch) CountNext(s *db.DB, q db.Querier, tenantID, list string, earlier []string, after, end string,
	most int, all bool,
) (c Counted, err error) {
	needs, few := m.needs(), false
	if len(earlier) > 0 {
		needs |= needKey
	}
	var led Led
	if !all {
		if led, few, err = m.Lead(q, list, after, most); err != nil {
			return c, err
		}
	}
	query, args := &mailableNext, []any{list, after, end, most, nil, tenantID}
	if few {
		within, _ := slices.BinarySearch(led.IDs, end)
		query, args = &ledLines, []any{list, db.JsonOf(led.IDs[:within]), nil, nil, nil, tenantID}
	}
	lines, err := readLines(q, query, needs, args...)
	if err != nil {
		return c, err
	}
	found, n, last, err := m.matching(s, q, lines)
	for i := 0; i < len(earlier) && err == nil; i++ {
		found, err = without(s, found, earlier[i], func(ids string) (places []int, err error) {
			return places, q.All(&places, mailableAmong, earlier[i], ids)
		})
	}
	if few {
		return Counted{len(found), n, led.To, led.More && led.To < end}, err
	}
	return Counted{len(found), n, last, n == most}, err
}

// matching returns those of the subscribers in l who match. all is the number of lines, and last is the last id.
func (m *RuleMatch) matching(s *db.DB, q db.Querier, l profileLines) (found []candidate, all int, last string,
	err error,
) {
	_, err = m.jobsOf(q, l.list) // even if no one needs them; see Among
	if err != nil || l.text == "" {
		return nil, 0, "", err
	}
	decides := m.matcher.OnlyEarly()
	early := decides || m.triesEarly()
	m.subs = m.subs[:0]
	var places []int // indexes in found of the subscribers in m.subs
	var sub core.Subscriber
	for sub.ListID = l.list; l.text != ""; all++ {
		l.next(&sub)
		match, decided := false, false
		if early {
			p := core.Profile{Email: sub.Email, Preferences: sub.Preferences, JoinedAt: sub.JoinedAt}
			if decides {
				match, decided = m.matcher.Match(&p), true
			} else {
				match, decided = m.matcher.Early(&p)
			}
		}
		if !decided {
			m.subs, places = append(m.subs, sub), append(places, len(found))
		}
		if match || !decided {
			found = append(found, candidate{sub.ID, sub.EmailKey})
		}
	}
	if early && !decides {
		m.tried, m.early = m.tried+all, m.early+all-len(m.subs)
	}
	if len(m.subs) == 0 {
		return found, all, sub.ID, nil
	}
	ps, err := m.profiles(s, q, m.subs)
	if err != nil {
		return nil, 0, "", err
	}
	others := places[:0]
	for i := range ps {
		if !m.matcher.Match(&ps[i]) {
			others = append(others, places[i])
		}
	}
	return dropped(found, others), all, sub.ID, nil
}
