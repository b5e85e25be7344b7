package handlers

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/mail"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
)

func init() {
	// sent-poll NAME list=LIST field=FIELD results=true: a campaign with two polls that was sent an hour ago to
	// ann@example.org. {NAME} is its id, {NAME.first} and {NAME.second} are links for the options of the first poll,
	// {NAME.other} is one of the second.
	steps["sent-poll"] = func(e *env, name string, args map[string]string) {
		p := e.polled(e.value(args["list"]), 1, func(f *core.CampaignFields) {
			f.Polls[0].Field, f.Polls[0].ShowResults = args["field"], args["results"] == "true"
		})
		e.name(name, p.campaign)
		e.name(name+".first", p.token(1, 1, 1))
		e.name(name+".second", p.token(1, 1, 2))
		e.name(name+".other", p.token(1, 2, 1))
	}
}

// polled is a campaign with two polls that was sent to a list's readers.
type polled struct {
	*env
	*storetest.Seeder
	campaign string
	list     string
	job      int64
}

func voter(n int) core.Email { return core.Email(fmt.Sprintf("r%04d@example.org", n)) }

// polled sends a campaign with two polls to n readers who have subscriptions.
func (e *env) polled(listID string, n int, change func(*core.CampaignFields)) *polled {
	seed := storetest.Seed(e.t, e.store).At(core.At(time.Now()).Add(-time.Hour))
	l, err := e.store.List(e.t.Context(), listID)
	e.must(err)
	for i := range n {
		seed.Active(listID, voter(i))
	}
	seed.Deliver()
	c := seed.NewCampaign(l, func(f *core.CampaignFields) {
		f.Content.Source = "Hello\n\n{{ poll.1 }}\n\nand\n\n{{ poll.2 }}\n"
		f.Polls = []core.Poll{
			{Question: "Which fruit?", Options: core.Strings{"Apples", "Pears", "Plums"}},
			{Question: "How often?", Options: core.Strings{"Weekly", "Monthly"}},
		}
	}, change)
	d := drafts.Drafts{Store: e.store, Sealer: e.handler.sealer, Origin: "http://news.test"}
	draft, _, err := d.Ready(e.t.Context(), &c, 0, seed.Now)
	e.must(err)
	j := seed.Finish(seed.SendDraft(&draft))
	return &polled{e, seed, c.ID, listID, j.No}
}

// token returns the token in the email of a recipient. Their order is not that of the readers.
func (p *polled) token(seq int64, poll, option int) string {
	return p.handler.ident.Poll(p.job, seq, mail.Answer{Poll: poll, Option: option})
}

// answer sends the form, and returns the status and the page.
func (p *polled) answer(token, option string, headers ...string) (int, string) {
	p.env.t.Helper()
	headers = append(headers, "Content-Type", "application/x-www-form-urlencoded")
	res, body := p.ask("POST", mail.PollPath+token, "", strings.NewReader(url.Values{"option": {option}}.Encode()),
		headers...)
	return res.StatusCode, string(body)
}

// counts returns the answers of each option of a poll.
func (p *polled) counts(poll int) (all []int64) {
	p.env.t.Helper()
	p.must(p.env.store.All(p.env.t.Context(), &all, `SELECT answers FROM poll_option AS o JOIN poll AS p ON p.no = o.poll_no
		WHERE p.campaign_id = ? AND p.number = ? ORDER BY o.number`, p.campaign, poll))
	return all
}

func (p *polled) want(what string, poll int, counts ...int64) {
	p.env.t.Helper()
	if got := p.counts(poll); fmt.Sprint(got) != fmt.Sprint(counts) {
		p.env.t.Errorf("%s: poll %d has %d, want %d", what, poll, got, counts)
	}
}

func newPolled(t *testing.T, n int, change ...func(*core.CampaignFields)) *polled {
	e := newEnv(t)
	e.step("tenant acme")
	e.step("list weekly tenant=acme")
	e.change("weekly", core.ListInput{Fields: &[]core.Field{
		{Name: "fruit", Label: "Fruit", Type: core.FieldText, SetBy: core.SetByTeam},
	}})
	return e.polled(e.value("weekly"), n, func(f *core.CampaignFields) {
		for _, fn := range change {
			fn(f)
		}
	})
}

// Only the button votes, the last answer wins, and each person counts once.
func TestPollsCountPeopleOnce(t *testing.T) {
	p := newPolled(t, 3)
	first, second := p.token(1, 1, 1), p.token(1, 1, 2)
	for _, method := range []string{"GET", "HEAD", "OPTIONS"} {
		for _, headers := range [][]string{nil, {"Purpose", "prefetch"}, {"Sec-Purpose", "prefetch;prerender"}} {
			p.ask(method, mail.PollPath+first, "", nil, headers...)
		}
	}
	p.want("scanners", 1, 0, 0, 0)
	_, _, page := p.page(mail.PollPath + second)
	if !regexp.MustCompile(`value="2" required checked`).MatchString(page) || !strings.Contains(page, "r…@example.org") {
		t.Error(page)
	}
	if strings.Contains(page, string(voter(0))) || strings.Contains(page, string(voter(1))) {
		t.Error("the page shows a whole address")
	}
	view := p.handler.sealer.AppendView(nil, auth.ViewToken{JobNo: p.job, Seq: 1, IssuedAt: core.At(time.Now())})
	if _, _, page := p.page("/v/" + string(view)); strings.Contains(page, first) ||
		!strings.Contains(page, mail.PollPath+mail.PollPreview) {
		t.Errorf("the web version votes: %s", page)
	}
	for range 3 {
		if status, body := p.answer(first, "1"); status != 200 {
			t.Fatal(status, body)
		}
	}
	p.want("three taps", 1, 1, 0, 0)
	p.answer(first, "2") // the form says what counts, whatever the link says
	p.want("another answer", 1, 0, 1, 0)
	p.answer(p.token(2, 1, 2), "2", "Cookie", "session=other")
	p.want("another person", 1, 0, 2, 0)
	p.want("the other poll", 2, 0, 0)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() { p.answer(p.token(3, 1, 1), strconv.Itoa(1+i%3)) })
	}
	wg.Wait()
	var sum int64
	for _, n := range p.counts(1) {
		sum += n
	}
	if sum != 3 {
		t.Errorf("%d answers of 3 people", sum)
	}
}

// A token for something else, a changed token or a number out of range changes nothing.
func TestForgedAnswers(t *testing.T) {
	p := newPolled(t, 2)
	good, ident := p.token(1, 1, 1), p.handler.ident
	for name, token := range map[string]string{
		"a click": ident.Track(p.job, 1, 101), "a message": ident.Message(p.job, 1), "cut": good[:len(good)-1],
		"longer": good + "a", "upper case": strings.ToUpper(good), "empty": "x", "no recipient": p.token(99, 1, 1),
		"another job": ident.Poll(p.job+1, 1, mail.Answer{Poll: 1, Option: 1}), "no poll": p.token(1, 3, 1),
		"no option": p.token(1, 1, 9), "option 0 of poll 0": p.token(1, 0, 0), "preview": mail.PollPreview,
		"changed": good[:len(good)-5] + map[bool]string{true: "b", false: "a"}[good[len(good)-5] == 'a'] + good[len(good)-4:],
	} {
		if token == good {
			continue
		}
		if status, _ := p.answer(token, "1"); status != 400 && status != 404 {
			t.Errorf("%s: %d", name, status)
		}
	}
	for _, option := range []string{"", "0", "4", "-1", "1.0", "１", "99999999999999999999", "Apples"} {
		if status, _ := p.answer(good, option); status != 400 {
			t.Errorf("option %q: %d", option, status)
		}
	}
	if status, _ := p.answer(good, "1", "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"); status != 403 {
		t.Errorf("from another site: %d", status)
	}
	p.want("forged", 1, 0, 0, 0)
	other := p.env.polledElsewhere()
	if status, _ := p.answer(other.token(1, 1, 1), "1"); status != 200 {
		t.Fatal(status)
	}
	p.want("another tenant's poll", 1, 0, 0, 0)
	other.want("their own", 1, 1, 0, 0)
}

func (e *env) polledElsewhere() *polled {
	e.step("tenant beta")
	e.step("list theirs tenant=beta")
	return e.polled(e.value("theirs"), 1, func(*core.CampaignFields) {})
}

// An answer sets the field on both sides, with one event for each change.
func TestAnswersSetAField(t *testing.T) {
	p := newPolled(t, 1, func(f *core.CampaignFields) { f.Polls[0].Field = "fruit" })
	value := func() string {
		sub, err := p.env.store.Subscription(t.Context(), p.list, voter(0))
		p.must(err)
		return string(sub.Preferences)
	}
	before := len(p.Events())
	p.answer(p.token(1, 1, 2), "2")
	p.answer(p.token(1, 1, 2), "2")
	if got := value(); got != `{"fruit":"Pears"}` || len(p.Events()) != before+1 {
		t.Errorf("%s, %d events", got, len(p.Events())-before)
	}
	p.answer(p.token(1, 1, 2), "3")
	storetest.Seed(t, p.env.store).Deliver()
	sub, err := p.env.store.Subscriber(t.Context(), p.list, voter(0))
	if p.must(err); sub.Preferences != `{"fruit":"Plums"}` {
		t.Errorf("the send side has %s", sub.Preferences)
	}
	for i := range 3 * core.MaxAnswerChanges {
		p.answer(p.token(1, 1, 1), strconv.Itoa(1+i%2))
	}
	if n := len(p.Events()); n > core.MaxAnswerChanges {
		t.Errorf("%d events of one person", n)
	}
	if status, _ := p.answer(p.token(1, 1, 1), "3"); status != http.StatusTooManyRequests {
		t.Errorf("after many changes: %d", status)
	}
}

// An answer stays out of a field that can't take it anymore.
func TestAnswersOfAFieldThatChanged(t *testing.T) {
	p := newPolled(t, 1, func(f *core.CampaignFields) { f.Polls[0].Field = "fruit" })
	p.change("weekly", core.ListInput{Fields: &[]core.Field{
		{Name: "fruit", Label: "Fruit", Type: core.FieldChoice, Options: core.Strings{"Pears", "Figs"}},
	}})
	for option, want := range []string{1: "{}", 2: `{"fruit":"Pears"}`, 3: `{"fruit":"Pears"}`} {
		if option == 0 {
			continue
		}
		status, _ := p.answer(p.token(1, 1, 1), strconv.Itoa(option))
		sub, err := p.env.store.Subscription(t.Context(), p.list, voter(0))
		if p.must(err); status != http.StatusOK || string(sub.Preferences) != want {
			t.Errorf("option %d: %d, %s", option, status, sub.Preferences)
		}
	}
	p.want("counted", 1, 0, 0, 1)
}

// Only the reply to an answer shows it, with the results. If a link was forwarded, its page shows neither.
func TestForwardedLinksShowNoAnswers(t *testing.T) {
	p := newPolled(t, 6, func(f *core.CampaignFields) { f.Polls[0].ShowResults = true })
	given := regexp.MustCompile(`Your answer:|class="results"|answers so far`)
	for seq := range int64(6) {
		_, page := p.answer(p.token(seq+1, 1, 1), "1")
		if all := given.FindAllString(page, -1); len(all) < 1 || seq == 5 && len(all) != 2 {
			t.Errorf("answer %d shows %q", seq+1, all)
		}
	}
	opened := func(what string) {
		t.Helper()
		_, _, page := p.page(mail.PollPath + p.token(1, 1, 2))
		if found := given.FindString(page); found != "" {
			t.Errorf("%s: the page shows %q", what, found)
		}
		status, page := p.answer(p.token(1, 1, 2), "9")
		if found := given.FindString(page); status == http.StatusOK || found != "" {
			t.Errorf("%s: the form without an option: %d %q", what, status, found)
		}
	}
	opened("open")
	c, err := p.env.store.Campaign(t.Context(), p.campaign)
	p.must(err)
	p.must(p.env.store.ClosePoll(t.Context(), &c, 1, "test", core.At(time.Now())))
	opened("closed")
	if status, page := p.answer(p.token(1, 1, 2), "2"); status != http.StatusConflict || given.MatchString(page) {
		t.Errorf("an answer to a closed poll: %d %s", status, page)
	}
}

// After an undone send, the polls are the draft's. Only users who may read the draft see them.
func TestPollsOfAnUndoneSend(t *testing.T) {
	e := newEnv(t)
	e.step("tenant acme")
	e.step("list weekly tenant=acme")
	e.step("user ed editor=acme")
	e.step("user vic viewer=acme")
	l, err := e.store.List(t.Context(), e.value("weekly"))
	e.must(err)
	seed := storetest.Seed(t, e.store).At(core.At(time.Now()))
	seed.Active(l.ID, voter(0))
	seed.Deliver()
	c := seed.NewCampaign(l, func(f *core.CampaignFields) {
		f.Content.Source = "{{ poll.1 }}\n"
		f.Polls = []core.Poll{{Question: "Which fruit?", Options: core.Strings{"Apples", "Pears"}}}
	})
	shows := func(as string, want int) {
		t.Helper()
		res, body := e.ask("GET", "/api/campaigns/"+c.ID+"/polls", as, nil)
		if n := strings.Count(string(body), `"question":`); res.StatusCode != 200 || n != want {
			t.Errorf("%s sees %d: %s", as, res.StatusCode, body)
		}
	}
	shows("ed", 1)
	shows("vic", 0)
	d := drafts.Drafts{Store: e.store, Sealer: e.handler.sealer, Origin: "http://news.test"}
	draft, _, err := d.Ready(t.Context(), &c, 0, seed.Now)
	e.must(err)
	seed.SendDraft(&draft)
	shows("ed", 1)
	shows("vic", 0)
	edit := campaigns.CampaignEdit{ID: c.ID, Actor: "test", Now: seed.Now}
	undone, err := e.store.UndoCampaign(t.Context(), edit)
	e.must(err)
	polls, err := drafts.PollResults(t.Context(), e.store, &undone, true, seed.Now)
	if e.must(err); len(polls) != 1 || polls[0].Open {
		t.Errorf("undone: %+v", polls)
	}
	shows("vic", 0)
	draft, _, err = d.Ready(t.Context(), &undone, 0, seed.Now)
	e.must(err)
	seed.Finish(seed.SendDraft(&draft))
	shows("vic", 1)
}

// A person who unsubscribed or was erased can't answer. An erased person's answer is gone.
func TestAnswersOfPeopleWhoLeft(t *testing.T) {
	p := newPolled(t, 2)
	p.answer(p.token(1, 1, 1), "1")
	p.answer(p.token(2, 1, 1), "1")
	p.want("before", 1, 2, 0, 0)
	storetest.Seed(t, p.env.store).Leave(p.list, voter(0))
	left := 0
	for seq := range int64(2) {
		switch status, _ := p.answer(p.token(seq+1, 1, 1), "2"); status {
		case http.StatusConflict:
			left++
		case http.StatusOK:
		default:
			t.Error(status)
		}
	}
	if p.want("one of them left", 1, 1, 1, 0); left != 1 {
		t.Errorf("%d were refused", left)
	}
	tenant := p.env.value("acme")
	data, err := p.env.store.ExportPerson(t.Context(), core.Person{Email: voter(1), TenantID: tenant})
	if p.must(err); len(data.Answers) != 1 || data.Answers[0].Answer != "Pears" || data.Answers[0].Question != "Which fruit?" {
		t.Errorf("exported: %+v", data.Answers)
	}
	_, err = p.env.store.ErasePerson(t.Context(), core.Person{Email: voter(1), TenantID: tenant}, "test",
		core.At(time.Now()))
	p.must(err)
	p.want("the other is erased", 1, 1, 0, 0)
	for seq := range int64(2) {
		if status, _ := p.answer(p.token(seq+1, 1, 1), "3"); status == 200 {
			t.Error("an erased person answered")
		}
	}
}

// A poll ends when it is closed or at its time, even while answers come in.
func TestPollsEnd(t *testing.T) {
	p := newPolled(t, 8, func(f *core.CampaignFields) {
		f.Polls[0].ShowResults = true
		f.Polls[1].ClosesAt = core.At(time.Now()).Add(-time.Minute)
	})
	if status, body := p.answer(p.token(1, 2, 1), "1"); status != http.StatusConflict ||
		!strings.Contains(body, "This poll is closed") {
		t.Errorf("after its time: %d", status)
	}
	c, err := p.env.store.Campaign(t.Context(), p.campaign)
	p.must(err)
	var wg sync.WaitGroup
	statuses := make([]int, 8)
	for i := range statuses {
		wg.Go(func() { statuses[i], _ = p.answer(p.token(int64(i+1), 1, 1), "1") })
	}
	wg.Go(func() { p.must(p.env.store.ClosePoll(t.Context(), &c, 1, "test", core.At(time.Now()))) })
	wg.Wait()
	counted := int64(0)
	for _, status := range statuses {
		if status == 200 {
			counted++
		} else if status != http.StatusConflict {
			t.Error(status)
		}
	}
	p.want("closed meanwhile", 1, counted, 0, 0)
	if status, _ := p.answer(p.token(1, 1, 1), "2"); status != http.StatusConflict {
		t.Errorf("closed: %d", status)
	}
	_, _, page := p.page(mail.PollPath + p.token(1, 1, 1))
	if strings.Contains(page, "<form") || !strings.Contains(page, "This poll is closed") {
		t.Error(page)
	}
}
