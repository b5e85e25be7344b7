package store_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/audience"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/imports"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
	"newsletterd/store/tenants"
)

// unordered maps parts of statements that may sort or scan a whole table to the reason.
var unordered = map[string]string{
	"SELECT id FROM list INDEXED BY list_tenant":  "the lists of a search are found by tenant, and sorted",
	"AND +send_job.tenant_id IN (SELECT":          "the jobs of several tenants are found among all",
	"AND +tenant_id IN (SELECT value FROM json_e": "the campaigns of several tenants are found among all",
	"FROM outbox WHERE id > ?1 AND (?2 = '' OR t": "the outbox holds what waits, and is empty but for that",
	"FROM import_job INDEXED BY import_job_list":  "a list has few imports",
	"FROM role WHERE user_id = ?":                 "a user has few roles",
	"ORDER BY name = ?2 DESC":                     "a command looks for a record by a part of its name",
	"FROM segment INDEXED BY segment_name":        "a tenant has few segments",
	"FROM tag AS g INDEXED BY tag_name":           "a tenant has few tags",
	"INDEXED BY list_deleted":                     "few lists were deleted in the last 30 days",
	"INDEXED BY tenant_deleted":                   "few tenants were deleted in the last 30 days",
}

// Every list of records is read through an index in the order of the list. No statement scans a table or sorts, and the
// list of a tenant reads no rows of other tenants. This is so for a new database, and also if all rows belong to one
// tenant and one list according to SQLite's statistics. Most installations are like this, and SQLite then chooses other
// indexes.
func TestListsAreReadByIndex(t *testing.T) {
	f := storetest.NewFaults(t)
	s := storetest.Seed(t, storetest.OpenWith(t, db.Options{Driver: f.Driver}))
	l := s.NewList()
	sub := s.Active(l.ID, "a@example.org")
	s.Deliver()
	s.NewUser("u@example.org", "")
	j := s.Finish(s.NewJob(l.ID))
	lists := everyList(l, sub, &j, s.Time())
	methods := reflect.TypeFor[*store.Store]()
	for i := range methods.NumMethod() {
		m := methods.Method(i)
		if isList(m.Type) && lists[m.Name] == nil && m.Name != "LargestLists" { // the method reads all rows on purpose
			t.Errorf("%s is a list that isn't looked at: add it to lists", m.Name)
		}
	}
	for _, statistics := range []bool{false, true} {
		if statistics {
			s.SkewStatistics()
		}
		for _, name := range slices.Sorted(maps.Keys(lists)) {
			queries := map[string]bool{} // true for lists of one tenant
			for _, args := range lists[name] {
				ofTenant := strings.Contains(fmt.Sprint(args), l.TenantID)
				f.FailWhen(func(query string) bool {
					queries[query] = queries[query] || ofTenant
					return false
				})
				callList(t, s.Store, name, args)
			}
			f.FailWhen(func(string) bool { return false })
			if len(queries) == 0 {
				t.Errorf("%s reads nothing", name)
			}
			for q, ofTenant := range queries {
				why, may := slow(s.Store, q, ofTenant), func(part string) bool { return strings.Contains(q, part) }
				if why != "" && !slices.ContainsFunc(slices.Collect(maps.Keys(unordered)), may) {
					t.Errorf("%s, statistics: %v: %s\n%s", name, statistics, why, q)
				}
			}
		}
	}
}

// everyList returns the arguments of each list method, without the context and the page or limit.
func everyList(l core.List, sub core.Subscription, j *core.SendJob, now core.Instant) map[string][][]any {
	none, own, others := []string(nil), []string{l.TenantID}, []string{l.TenantID, "t"}
	among := [][]any{{own, false}, {others, false}, {none, true}}
	of := [][]any{{"id"}}
	return map[string][][]any{
		"Agents": of,
		"Audit": {
			{core.AuditFilter{}},
			{core.AuditFilter{TenantID: l.TenantID, Action: "list", From: 1}},
			{core.AuditFilter{Actor: "a"}},
			{core.AuditFilter{Object: l.ID}},
		},
		"BlockedSubscribers": {{l.ID, ""}},
		"BulkActions":        {{l.ID}},
		"CampaignVersions":   {{&core.Campaign{No: 1}}},
		"Campaigns": {
			{campaigns.CampaignFilter{All: true}},
			{campaigns.CampaignFilter{Tenants: []string{l.TenantID}}},
			{campaigns.CampaignFilter{Tenants: []string{l.TenantID}, State: core.CampaignDraft, ListID: l.ID, Text: "a"}},
			{campaigns.CampaignFilter{Tenants: []string{l.TenantID, "t"}, ListID: l.ID}},
		},
		"ClaimDeferred":      {{[]core.Claim(nil), &campaigns.ClaimKey{}, now, j.No, now}},
		"ClaimRecipients":    {{[]core.Claim(nil), &campaigns.ClaimKey{}, j.No}},
		"Clients":            among,
		"CountSuppressed":    {{l.TenantID, "", ""}, {l.TenantID, "bounced", ""}, {l.TenantID, "", "id"}},
		"CountedLists":       among,
		"DKIMKeys":           among,
		"DeletedLists":       {{own, false, now}, {others, false, now}, {none, true, now}},
		"DeletedTenants":     {{now}},
		"Devices":            of,
		"DisabledAddresses":  {{"", core.Suppressed{}}, {l.TenantID, core.Suppressed{}}},
		"DueEvents":          {{"", now}, {"id", now}},
		"DueMails":           {{now}},
		"DueMailsOf":         {{"id", now}},
		"DuePendingDisables": {{now}},
		"EndpointAttempts":   {{"id", false}, {"id", true}},
		"Endpoints":          among,
		"FindRecipients": {
			{j, campaigns.RecipientFilter{Search: "a"}},
			{j, campaigns.RecipientFilter{Search: "a", Status: "failed", Code: "550"}},
			{j, campaigns.RecipientFilter{Search: "a", Event: "clicked"}},
		},
		"History": {{sub.Email, []string{l.TenantID}, false}, {sub.Email, none, true}},
		"ImportJobs": {
			{[]string{l.TenantID}, false, ""},
			{[]string{l.TenantID, "t"}, false, ""},
			{none, true, ""},
			{[]string{l.TenantID}, false, l.ID},
		},
		"ImportedSuppressions": {{"id", "bounced", "", core.Suppressed{}}, {"id", "", l.TenantID, core.Suppressed{}}},
		"Invitations":          among,
		"IssuesAfter":          {{l.ID, core.Issue{No: 1}}},
		"IssuesBefore":         {{l.ID, core.Issue{}}},
		"JobViews": {
			{campaigns.JobFilter{All: true}},
			{campaigns.JobFilter{Tenants: []string{l.TenantID}}},
			{campaigns.JobFilter{Tenants: []string{l.TenantID}, CampaignIDs: []string{j.CampaignID}}},
			{campaigns.JobFilter{Tenants: []string{l.TenantID}, CampaignIDs: []string{j.CampaignID, core.NewID()}}},
			{campaigns.JobFilter{Tenants: []string{l.TenantID, "t"}, Status: core.JobStatus("running")}},
		},
		"ImportPictures": {{"id", ""}, {"id", core.PictureFailed}},
		"ImportedIssues": {{l.ID}},
		"ListGrowth":     {{l.ID, now}},
		"Lists":          among,
		"MatchingSubscriptions": {
			{people.SubscriptionFilter{ListID: l.ID}},
			{people.SubscriptionFilter{All: true, Status: "bounced"}},
			{people.SubscriptionFilter{Tenants: []string{l.TenantID}, Prefix: "a", Field: "x", Value: "y"}},
			{people.SubscriptionFilter{All: true, Email: sub.Email}},
			{people.SubscriptionFilter{Tenants: []string{l.TenantID}, Search: "a"}},
		},
		"TemplateUses": of,
		"Themes":       among,
		"MediaOf":      {{l.TenantID, ""}, {l.TenantID, "a"}},
		"Models":       {{"id", int64(0)}},
		"NewMails":     {{now, int64(0)}},
		"NewMailsOf":   {{"id", now, int64(0)}},
		"OpenBatches":  {{"id", 0}},
		"OpenSyncs":    {{}},
		"OutboxEvents": {
			{tenants.OutboxFilter{}, int64(0)},
			{tenants.OutboxFilter{TenantID: l.TenantID}, int64(0)},
			{tenants.OutboxFilter{ListID: l.ID, SubscriptionID: sub.ID}, int64(0)},
			{tenants.OutboxFilter{EndpointID: "id", State: core.EventDead}, int64(0)},
		},
		"Providers":   {{}},
		"QueuedMails": {{tenants.MailFilter{}, int64(0)}, {tenants.MailFilter{State: core.MailFailed}, int64(0)}},
		"Recipients": {
			{j, campaigns.RecipientFilter{}},
			{j, campaigns.RecipientFilter{Status: "sent"}},
			{j, campaigns.RecipientFilter{Status: "failed", Code: "550"}},
			{j, campaigns.RecipientFilter{Email: sub.Email}},
			{j, campaigns.RecipientFilter{Event: "clicked"}},
		},
		"References":    {{people.NounList, "acme", ""}},
		"SenderDomains": among,
		"PeopleOf": {{audience.Question{
			TenantID: l.TenantID, ListIDs: []string{l.ID}, Rule: &core.Rule{OnList: l.ID}, Now: now,
		}}},
		"SegmentUses":         of,
		"SearchIssues":        {{&l, "apples", int64(0)}},
		"Segments":            {{l.TenantID}},
		"Tags":                {{l.TenantID}},
		"Shares":              of,
		"StillSubscribed":     {{&core.ImportJob{ID: "id", ListID: l.ID}}},
		"Subscribers":         {{l.ID}},
		"Subscriptions":       {{l.ID, ""}},
		"SuppressedAddresses": {{"", core.Suppressed{}}, {l.TenantID, core.Suppressed{}}},
		"SuppressedOnce":      {{l.TenantID, "", "a"}, {l.TenantID, "bounced", ""}},
		"SyncsAmong":          {{[]string{l.TenantID}, false, ""}, {none, true, ""}, {none, true, l.ID}},
		"Team":                {{l.TenantID}},
		"TemplateHeads":       {{l.TenantID}},
		"Templates":           {{l.TenantID}},
		"Tenants":             among,
		"Users":               {{}},
		"WebhookClients":      {{}},
		"WebhookClientsAmong": among,
	}
}

// isList reports whether a method of the store reads a page or a limited number of records.
func isList(m reflect.Type) bool {
	if m.NumOut() == 0 || m.Out(0).Kind() != reflect.Slice {
		return false
	}
	for i := range m.NumIn() {
		if in := m.In(i); in == reflect.TypeFor[core.Page]() || in.Kind() == reflect.Int {
			return true
		}
	}
	return false
}

// callList calls a list method with the arguments, for up to 50 records.
func callList(t *testing.T, s *store.Store, name string, args []any) {
	t.Helper()
	m := reflect.ValueOf(s).MethodByName(name)
	in := []reflect.Value{reflect.ValueOf(t.Context())}
	for _, a := range args {
		in = append(in, reflect.ValueOf(a))
	}
	last := m.Type().In(m.Type().NumIn() - 1)
	if last.Kind() == reflect.Int {
		in = append(in, reflect.ValueOf(50))
	} else {
		in = append(in, reflect.ValueOf(core.Page{Limit: 50}))
	}
	if len(in) != m.Type().NumIn() {
		t.Fatalf("%s takes other arguments: %s", name, m.Type())
	}
	out := m.Call(in)
	if err, _ := out[len(out)-1].Interface().(error); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// ofOthers matches a step that reads the rows of all tenants.
var ofOthers = regexp.MustCompile(`USING .*\((id|no|rowid|email_key|\([a-z_,]+\))[<>]`)

// slow returns the first step of a statement's plan whose duration grows with the number of rows or, for the list of a
// tenant, with the rows of other tenants. If there is none, it returns an empty string.
func slow(s *store.Store, query string, ofTenant bool) string {
	if !strings.HasPrefix(query, "SELECT") && !strings.HasPrefix(query, "WITH") {
		return ""
	}
	var plan []struct {
		ID, Parent, Notused int
		Detail              string
	}
	s.AllRows(&plan, "EXPLAIN QUERY PLAN "+query, slices.Repeat([]any{"1"}, 20)...)
	made := map[string]bool{}
	for _, step := range plan {
		word, rest, _ := strings.Cut(step.Detail, " ")
		name, how, _ := strings.Cut(rest, " ")
		switch {
		case word == "CO-ROUTINE", word == "MATERIALIZE":
			made[rest] = true
		case ofTenant && ofOthers.MatchString(step.Detail),
			strings.Contains(step.Detail, "TEMP B-TREE") && strings.Contains(step.Detail, "ORDER BY"),
			word == "SCAN" && rest != "CONSTANT ROW" && !made[name] && !strings.Contains(how, "INDEX"):
			return step.Detail
		}
	}
	return ""
}

// The parameter of a LIMIT is written +?. SQLite uses the value of a plain parameter for planning, and would plan the
// statement again for each new value, which costs more than reading a page.
func TestStatementsAreNotPlannedAnew(t *testing.T) {
	bare := regexp.MustCompile(`LIMIT\s+\?`)
	var files []string
	for _, pattern := range []string{"*.go", "*/*.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatal(found, err)
		}
		files = append(files, found...)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range bare.FindAllIndex(text, -1) {
			t.Errorf("%s:%d: LIMIT has no + before its ?", name, 1+bytes.Count(text[:at[0]], []byte("\n")))
		}
	}
}

// Statements that write thousands of subscriber rows must not build a temporary table for each row. SQLite does that
// for a CHECK that has IN with three values.
func TestRowsAreWrittenWithoutTablesOfTheirOwn(t *testing.T) {
	f := storetest.NewFaults(t)
	s := storetest.Seed(t, storetest.OpenWith(t, db.Options{Driver: f.Driver}))
	l := s.NewList()
	queries := map[string]bool{}
	f.FailWhen(func(query string) bool {
		for _, table := range []string{"subscription", "consent", "subscriber"} {
			if strings.HasPrefix(query, "INSERT INTO "+table+" ") || strings.HasPrefix(query, "UPDATE "+table+" ") {
				queries[query] = true
			}
		}
		return false
	})
	rows := make([]imports.ImportRow, 100)
	for i := range rows {
		rows[i].Email = core.Email("r" + strings.Repeat("x", i) + "@example.org")
	}
	s.Import(l.ID, core.SubscriptionActive, rows...)
	s.Active(l.ID, "a@example.org")
	s.Leave(l.ID, "a@example.org")
	s.Deliver()
	f.FailWhen(func(string) bool { return false })
	if len(queries) < 5 {
		t.Errorf("%d statements: %v", len(queries), slices.Collect(maps.Keys(queries)))
	}
	for q := range queries {
		var steps []struct {
			Addr, P1, P2, P3, P5 int
			Opcode               string
			P4, Comment          *string
		}
		s.AllRows(&steps, "EXPLAIN "+q, slices.Repeat([]any{1}, strings.Count(q, "?"))...)
		for _, step := range steps {
			if step.Opcode == "OpenEphemeral" {
				t.Errorf("a table for each row: %s", q)
				break
			}
		}
	}
}
