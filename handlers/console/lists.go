package console

import (
	"cmp"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// listRoutes are the pages of lists.
func (o *Console) listRoutes(t *web.Table) {
	const read, change = core.ActionListRead, core.ActionListSettings
	o.get(t, "/lists", read, o.lists, "The console: lists")
	o.get(t, "/new-list", change, o.newList, "The console: a new list")
	o.post(t, "/new-list", change, o.newList, "The console: create a list")
	o.get(t, "/lists/:id", read, o.list, "The console: a list with its figures")
	o.get(t, "/lists/:id/left", read, o.listLeft, "The console: why people have left a list")
	o.get(t, "/lists/:id/form", read, o.listForm, "The console: the subscribe form of a list")
	o.get(t, "/lists/:id/questions", read, o.listQuestions, "The console: what a list asks its subscribers")
	o.post(t, "/lists/:id/questions", change, o.listQuestions, "The console: change what a list asks its subscribers")
	o.get(t, "/lists/:id/mails", read, o.listMails, "The console: wording of a list's mails")
	o.post(t, "/lists/:id/mails", change, o.listMails, "The console: change the wording of a list's mails")
	o.get(t, "/lists/:id/settings", change, o.listSettings, "The console: settings of a list")
	o.post(t, "/lists/:id/settings", change, o.listSettings, "The console: change the settings of a list")
	o.get(t, "/lists/:id/delete", change, o.listDelete, "The console: delete a list: the page that asks")
	o.post(t, "/lists/:id/delete", change, o.listDelete, "The console: delete a list")
}

const apiLists = "/api/admin/newsletter-lists"

// lists shows the lists of the tenant with their counts.
func (o *Console) lists(p *Page) (web.HTML, error) {
	var found []core.CountedList
	next, err := p.Get(apiLists, p.ofTenant("limit", "50", "cursor", p.Query("cursor")), &found)
	if err != nil {
		return web.HTML{}, err
	}
	return p.Show("lists", View{
		Title: p.T("Lists"), State: p.T("Who reads you, and how they came to."), Data: struct {
			Lists []core.CountedList
			Pager pager
		}{found, p.Pager(next)},
	})
}

// ListBadge is a list's state in a word, where there is something to say.
func (p *Page) ListBadge(l core.List) Badge {
	if !l.Active() {
		return Badge{p.T("switched off"), "warn"}
	}
	return Badge{}
}

// PageLanguages are the languages that pages and mails to readers can have.
func (p *Page) PageLanguages(none string) []option {
	names := map[string]string{"en": "English", "de": "Deutsch", "fr": "Français", "es": "Español"}
	all := []option{{"", none}}
	for _, lang := range core.Languages {
		all = append(all, option{lang, cmp.Or(names[lang], lang)})
	}
	return all
}

// newList is the form of a new list.
func (o *Console) newList(p *Page) (web.HTML, error) {
	show := func(f filled, v View) (web.HTML, error) {
		v.Title, v.State = p.T("New list"), p.T("People subscribe to a list; a campaign goes to one or several.")
		v.Within = []Link{{p.T("Lists"), p.Path("lists")}}
		v.Data = f
		return p.Show("list-new", v)
	}
	if p.isGet() {
		return show(filled{}, View{})
	}
	body := p.sent("name", "description", "language")
	body["tenant_id"] = p.Tenant.ID
	var made core.List
	if err := p.Do("POST", apiLists, body, &made); err != nil {
		return p.refused(err, show)
	}
	return p.Redirect(p.Path("lists", made.ID), "created")
}

// listPage is what the pages of one list share.
type listPage struct {
	List *core.CountedList
	Tabs []tab
	Form filled
	More any
}

// showList shows a page of the list of the path: a template and its Data.
func (p *Page) showList(name string, l *core.CountedList, v View, form filled, more any) (web.HTML, error) {
	v.Title, v.Badge = l.Name, p.ListBadge(l.List)
	v.Within = []Link{{p.T("Lists"), p.Path("lists")}}
	links := []Link{
		{p.T("Figures"), p.Path("lists", l.ID)},
		{p.T("Why people left"), p.Path("lists", l.ID, "left")},
		{p.T("Form"), p.Path("lists", l.ID, "form")},
		{p.T("Questions"), p.Path("lists", l.ID, "questions")},
		{p.T("Mails"), p.Path("lists", l.ID, "mails")},
	}
	if p.May(core.ActionListSettings) {
		links = append(links, Link{p.T("Settings"), p.Path("lists", l.ID, "settings")})
	}
	v.Data = listPage{l, p.tabsOf(links...), form, more}
	return p.Show(name, v)
}

// theList reads the list of the path. One of another tenant is none.
func (p *Page) theList() (l core.CountedList, err error) {
	_, err = p.Get(apiLists+"/"+url.PathEscape(p.Param("id")), nil, &l)
	if err == nil && l.TenantID != p.Tenant.ID {
		err = web.ErrNotFound
	}
	return l, err
}

// changeList sends what a form makes of a list, and leads back to its page.
func (p *Page) changeList(l *core.CountedList, body any, page string, show func(filled, View) (web.HTML, error)) (
	web.HTML, error,
) {
	if err := p.Do("PUT", apiLists+"/"+l.ID, body, nil); err != nil {
		return p.refused(err, show)
	}
	return p.Redirect(p.Path("lists", l.ID, page), "saved")
}

// growth is how a list, or all lists of a tenant, have grown.
type growth struct {
	Days    int
	Ranges  []tab
	Chart   chart
	Known   bool // there are at least two days
	Readers int64
	Left    int64
}

// growthRanges are the days that a page can show the growth of.
var growthRanges = []int{30, 90, 365}

// growthOf sums up the growth of lists, over the days that the query names.
func (p *Page) growthOf(lists ...string) (g growth, err error) {
	g.Days = growthRanges[0]
	if n, err := strconv.Atoi(p.Query("days")); err == nil && slices.Contains(growthRanges, n) {
		g.Days = n
	}
	for _, n := range growthRanges {
		to := p.Request.URL.Path + "?days=" + strconv.Itoa(n)
		g.Ranges = append(g.Ranges, tab{Link{p.N("{{n}} day|{{n}} days", int64(n)), to}, n == g.Days})
	}
	sums := map[string]core.ListCounts{}
	for _, id := range lists {
		var days []core.DayCounts
		if _, err := p.Get(apiLists+"/"+id+"/growth", url.Values{"days": {strconv.Itoa(g.Days)}}, &days); err != nil {
			return g, err
		}
		for _, d := range days {
			sums[d.Day] = sums[d.Day].Plus(d.ListCounts)
		}
	}
	var labels []string
	var values []int64
	var first, last core.ListCounts
	end := p.Now.Time().UTC()
	for i := g.Days - 1; i >= 0; i-- {
		day := end.AddDate(0, 0, -i)
		counts, ok := sums[day.Format(time.DateOnly)]
		if !ok {
			continue
		}
		if len(labels) == 0 {
			first = counts
		}
		last = counts
		labels, values = append(labels, p.shortDay(day)), append(values, counts.Readers())
	}
	g.Known, g.Readers = len(labels) > 1, last.Readers()-first.Readers()
	g.Left = max(0, last.Unsubscribed-first.Unsubscribed)
	g.Chart = p.lineChart(p.T("Readers"), labels, values)
	return g, nil
}

// shortDay writes a day without its year.
func (p *Page) shortDay(t time.Time) string {
	f := formats[p.Lang]
	day := strconv.Itoa(t.Day())
	if strings.Contains(f.date, "D.") {
		day += "."
	}
	return day + " " + f.months[t.Month()-1]
}

// Signed writes a difference with its sign.
func (p *Page) Signed(n int64) string {
	if n > 0 {
		return "+" + p.Number(n)
	}
	return p.Number(n)
}

// Lately says how a figure has changed in the days of the chart; where that isn't known, it is otherwise.
func (p *Page) Lately(g growth, change int64, otherwise string) string {
	if !g.Known {
		return otherwise
	}
	return p.T("{{net}} in {{days}} days", "net", p.Signed(change), "days", g.Days)
}

// list shows the figures of a list.
func (o *Console) list(p *Page) (web.HTML, error) {
	l, err := p.theList()
	if err != nil {
		return web.HTML{}, err
	}
	g, err := p.growthOf(l.ID)
	if err != nil {
		return web.HTML{}, err
	}
	v := View{State: p.N("One reader.|{{n}} readers.", l.Counts.Readers())}
	if g.Known && g.Readers != 0 {
		v.State = p.N("One reader, {{net}} in {{days}} days.|{{n}} readers, {{net}} in {{days}} days.", l.Counts.Readers(),
			"net", p.Signed(g.Readers), "days", g.Days)
	}
	return p.showList("list", &l, v, filled{}, g)
}

// reasonRow is why some people have left a list.
type reasonRow struct {
	Reason    string       `json:"reason"`
	Leavers   int64        `json:"leavers"`
	LastAt    core.Instant `json:"last_at"`
	LastWords string       `json:"last_words"`
	Part      string
}

// listLeft shows why people have left a list. The whole ledger is read for it, so it has a page of its own.
func (o *Console) listLeft(p *Page) (web.HTML, error) {
	l, err := p.theList()
	if err != nil {
		return web.HTML{}, err
	}
	var rows []reasonRow
	if _, err := p.Get(apiLists+"/"+l.ID+"/reasons", nil, &rows); err != nil {
		return web.HTML{}, err
	}
	var sum int64
	for _, r := range rows {
		sum += r.Leavers
	}
	for i := range rows {
		rows[i].Part = p.Percent(rows[i].Leavers, sum)
	}
	return p.showList("list-left", &l, View{State: p.N("One person has left.|{{n}} people have left.", sum)}, filled{}, rows)
}

// Reason is a reason to leave in words.
func (p *Page) Reason(word string) string {
	switch word {
	case "too_many":
		return p.T("Too many mails")
	case "content":
		return p.T("Not interesting any more")
	case "never_asked":
		return p.T("Never subscribed")
	case "other":
		return p.T("Something else")
	case "":
		return p.T("No reason given")
	}
	return word
}

// listLinks are the pages of a list that everyone can open.
type listLinks struct {
	Page, Archive, Feed string
	Code                string // of a form for another site
}

// listForm shows how people come to a list: its page, a form for one's own site, its archive.
func (o *Console) listForm(p *Page) (web.HTML, error) {
	l, err := p.theList()
	if err != nil {
		return web.HTML{}, err
	}
	var form struct {
		HTML string `json:"html"`
	}
	if _, err := p.Get(apiLists+"/"+l.ID+"/form", nil, &form); err != nil {
		return web.HTML{}, err
	}
	links := listLinks{Code: form.HTML}
	_, rest, _ := strings.Cut(form.HTML, `action="`)
	action, _, _ := strings.Cut(rest, `"`)
	links.Page = html.UnescapeString(action)
	if l.Archive {
		links.Archive = strings.TrimSuffix(links.Page, "/l/"+l.ID) + l.ArchivePath()
		links.Feed = links.Archive + "feed.xml"
	}
	return p.showList("list-form", &l, View{State: p.T("How people come to this list.")}, filled{}, links)
}

// question is a field of a list in its form.
type question struct {
	No                int
	Name, Label, Type string
	Options           string // one in each line
	Required, Removed bool
}

// listQuestions is the editor of the fields of a list.
func (o *Console) listQuestions(p *Page) (web.HTML, error) {
	l, err := p.theList()
	if err != nil {
		return web.HTML{}, err
	}
	show := func(f filled, v View) (web.HTML, error) {
		v.State = p.T("What people are asked when they subscribe, in addition to their address.")
		questions := questionsOf(l.Fields)
		if f.values != nil {
			questions = p.sentQuestions()
		}
		if p.May(core.ActionListSettings) {
			questions = append(questions, question{No: nextQuestion(questions), Type: core.FieldText})
		}
		return p.showList("list-questions", &l, v, f, questions)
	}
	if p.isGet() {
		return show(filled{}, View{})
	}
	fields, at := fieldsOf(p.sentQuestions())
	body := map[string]any{"fields": fields}
	return p.changeList(&l, body, "questions", func(f filled, v View) (web.HTML, error) {
		f.at = at(f.at)
		return show(f, v)
	})
}

// QuestionTypes are the kinds of a question.
func (p *Page) QuestionTypes() []option {
	return []option{
		{core.FieldText, p.T("A line of text")}, {core.FieldChoice, p.T("One of several")}, {core.FieldBoolean, p.T("A box to tick")},
	}
}

func questionsOf(fields core.Fields) (all []question) {
	for i := range fields {
		f := &fields[i]
		all = append(all, question{
			No: i + 1, Name: f.Name, Label: f.Label, Type: f.Type, Options: strings.Join(f.Options, "\n"), Required: f.Required,
		})
	}
	return all
}

func nextQuestion(all []question) (n int) {
	for _, q := range all {
		n = max(n, q.No)
	}
	return n + 1
}

// sentQuestions are the questions of the form that was sent. The last, empty one is none.
func (p *Page) sentQuestions() (all []question) {
	for no := 1; no <= core.MaxFields+1; no++ {
		at := "q" + strconv.Itoa(no) + "."
		q := question{
			No: no, Name: p.Form[at+"name"], Label: strings.TrimSpace(p.Form[at+"label"]), Type: p.Form[at+"type"],
			Options: p.Form[at+"options"], Required: p.Form[at+"required"] == "1", Removed: p.Form[at+"remove"] == "1",
		}
		if q.Name != "" || q.Label != "" {
			all = append(all, q)
		}
	}
	return all
}

// fieldsOf makes the fields of a list of the questions of its form. at turns the name of a field of the API into that
// of the form.
func fieldsOf(questions []question) (fields core.Fields, at func(string) string) {
	fields = core.Fields{}
	var numbers []int
	taken := map[string]bool{}
	for _, q := range questions {
		taken[q.Name] = true
	}
	for _, q := range questions {
		if q.Removed {
			continue
		}
		f := core.Field{Name: q.Name, Label: q.Label, Type: q.Type, Required: q.Required}
		if f.Name == "" {
			f.Name = fieldName(q.Label, taken)
		}
		if q.Type == core.FieldChoice {
			for line := range strings.SplitSeq(q.Options, "\n") {
				if line = strings.TrimSpace(line); line != "" {
					f.Options = append(f.Options, line)
				}
			}
		}
		fields, numbers = append(fields, f), append(numbers, q.No)
	}
	return fields, func(name string) string {
		for i, no := range numbers {
			if rest, ok := strings.CutPrefix(name, fmt.Sprintf("fields[%d].", i)); ok {
				rest, _, _ = strings.Cut(rest, "[")
				return fmt.Sprintf("q%d.%s", no, rest)
			}
		}
		return name
	}
}

// fieldName makes the name of a field out of its label: letters and digits, the rest as underscores.
func fieldName(label string, taken map[string]bool) string {
	const most = 30
	letters := strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "ß", "ss", "é", "e", "è", "e", "á", "a", "í", "i", "ó", "o",
		"ú", "u", "ñ", "n", "ç", "c", "à", "a", "ê", "e")
	var b strings.Builder
	for _, r := range letters.Replace(strings.ToLower(label)) {
		switch {
		case r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) && b.Len() > 0):
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
		if b.Len() >= most {
			break
		}
	}
	base := strings.Trim(b.String(), "_")
	if base == "" || base == "email" || base == "source" {
		base = strings.Trim("field_"+base, "_")
	}
	name := base
	for n := 2; taken[name]; n++ {
		name = base + "_" + strconv.Itoa(n)
	}
	taken[name] = true
	return name
}

// mailKind is a mail to readers whose wording can be changed.
type mailKind struct{ Name, Title, When string }

// mailKinds in the order in which a reader gets them.
func (p *Page) mailKinds() []mailKind {
	return []mailKind{
		{"confirm", p.T("Please confirm"), p.T("goes to everyone who asks to subscribe; the link confirms")},
		{"subscribed", p.T("You subscribe already"), p.T("goes to those who ask again")},
		{"unsubscribed", p.T("You have left"), p.T("confirms that someone has left")},
		{"preferences", p.T("Your settings"), p.T("has the link to a reader's own page")},
	}
}

// mailTextValues are the wordings as a form has them.
func mailTextValues(m *core.MailTexts) map[string]string {
	values := map[string]string{}
	for name, text := range map[string]*core.MailText{
		"confirm": m.Confirm, "subscribed": m.Subscribed, "unsubscribed": m.Unsubscribed, "preferences": m.Preferences,
	} {
		if text != nil {
			values["mail_texts."+name+".subject"], values["mail_texts."+name+".text"] = text.Subject, text.Text
		}
	}
	return values
}

// sentMailTexts are the wordings of the form that was sent.
func (p *Page) sentMailTexts() map[string]core.MailText {
	texts := map[string]core.MailText{}
	for _, k := range p.mailKinds() {
		t := core.MailText{Subject: p.Form["mail_texts."+k.Name+".subject"], Text: p.Form["mail_texts."+k.Name+".text"]}
		if t != (core.MailText{}) {
			texts[k.Name] = t
		}
	}
	return texts
}

// listMails is the wording of the mails of a list.
func (o *Console) listMails(p *Page) (web.HTML, error) {
	l, err := p.theList()
	if err != nil {
		return web.HTML{}, err
	}
	show := func(f filled, v View) (web.HTML, error) {
		v.State = p.T("Mails that readers get by themselves. What is left empty is our own text.")
		return p.showList("list-mails", &l, v, f, p.mailKinds())
	}
	if p.isGet() {
		return show(filled{values: mailTextValues(&l.MailTexts)}, View{})
	}
	return p.changeList(&l, map[string]any{"mail_texts": p.sentMailTexts()}, "mails", show)
}

// listSettings are the settings of a list.
func (o *Console) listSettings(p *Page) (web.HTML, error) {
	l, err := p.theList()
	if err != nil {
		return web.HTML{}, err
	}
	show := func(f filled, v View) (web.HTML, error) {
		confirm := []option{
			{"", p.T("As it is set for all lists")},
			{core.ConfirmReceipt, p.T("Only the link in the mail")},
			{core.ConfirmTrusted, p.T("The link, and our own programs")},
			{core.ConfirmLive, p.T("The link, and the site that asked")},
		}
		return p.showList("list-settings", &l, v, f, confirm)
	}
	if p.isGet() {
		return show(filled{values: map[string]string{
			"name": l.Name, "description": l.Description, "language": l.Language, "consent_text": l.ConsentText,
			"confirm_token": l.ConfirmToken, "require_mailed_proof": tickWord(l.RequireMailedProof),
			"subscribe_redirect_url": l.SubscribeRedirectURL, "confirm_redirect_url": l.ConfirmRedirectURL,
			"unsubscribe_redirect_url": l.UnsubscribeRedirectURL, "archive": tickWord(l.Archive), "slug": l.Slug,
			"active": tickWord(l.Active()), "sync_removes_absent": tickWord(l.SyncRemovesAbsent),
		}}, View{})
	}
	body := p.sent("name", "description", "language", "consent_text", "confirm_token", "subscribe_redirect_url",
		"confirm_redirect_url", "unsubscribe_redirect_url", "slug")
	for _, name := range []string{"require_mailed_proof", "archive", "sync_removes_absent"} {
		body[name] = p.Form[name] == "1"
	}
	body["status"] = core.ListInactive
	if p.Form["active"] == "1" {
		body["status"] = core.ListActive
	}
	return p.changeList(&l, body, "settings", show)
}

// listDelete asks whether a list is to be deleted, and deletes it.
func (o *Console) listDelete(p *Page) (web.HTML, error) {
	l, err := p.theList()
	if err != nil {
		return web.HTML{}, err
	}
	show := func(f filled, v View) (web.HTML, error) {
		return p.showList("list-delete", &l, v, f, nil)
	}
	if p.isGet() {
		return show(filled{}, View{})
	}
	if strings.TrimSpace(p.Form["name"]) != l.Name {
		return show(filled{values: p.Form, at: "name", text: p.T("This is not the name of the list.")}, View{Status: 400})
	}
	if err := p.Do("DELETE", apiLists+"/"+l.ID, nil, nil); err != nil {
		return p.refused(err, show)
	}
	return p.Redirect(p.Path("lists"), "deleted")
}

// growthPart is what the component "growth" shows.
type growthPart struct {
	Title, Later string
	Growth       growth
}

// GrowthPart makes it.
func (p *Page) GrowthPart(title string, g growth) growthPart {
	return growthPart{title, p.T("From the second day on, a line will stand here."), g}
}

// mailTextsPart is what the component "mail-texts" shows.
type mailTextsPart struct {
	Form                      filled
	Kinds                     []mailKind
	May                       bool
	Subject, Text, Help, Save string
}

// MailTextsPart makes it.
func (p *Page) MailTextsPart(f filled, kinds []mailKind, may bool) mailTextsPart {
	return mailTextsPart{
		f, kinds, may, p.T("Subject"), p.T("Text above the link"),
		p.T("{{email}}, {{list}} and {{tenant}} are filled in.", "email", "{{email}}", "list", "{{list.name}}", "tenant",
			"{{tenant.name}}"), p.T("Save"),
	}
}
