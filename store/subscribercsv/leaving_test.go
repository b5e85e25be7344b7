package subscribercsv

import (
	"fmt"
	"strings"
	"testing"

	"newsletterd/core"
)

// fates returns the result for a person with one cell in a column. few is the result in a small file, and many is the
// result in a file with many other cells. A result is "asked" or a status from standings.
func fates(t *testing.T, column, cell string) (few, many string) {
	t.Helper()
	quoted := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
	head := "email," + quoted(column) + "\n"
	line := "ann@x.example," + quoted(cell) + "\n"
	fate := func(file string) string {
		if len(askedOf(t, file, nil)) > 0 {
			return "asked"
		}
		all := standings(t, file, nil)
		_, said, _ := strings.Cut(all[len(all)-1], " ")
		return said
	}
	var others strings.Builder
	for i := range 2 * maxValues {
		fmt.Fprintf(&others, "b%d@x.example,other %d\n", i, i)
	}
	return fate(head + line), fate(head + others.String() + line)
}

// For every column name and every spelling, no one who left becomes active without a question.
func TestNobodyIsRevivedSilently(t *testing.T) {
	t.Parallel()
	for column, cells := range map[string]string{
		"Abonniert": "Nein", "Angemeldet": "Nein", "Abonnent": "nein", "Abonné": "Non", "Inscrit": "Non", "Suscrito": "No",
		"Newsletter abonniert": "Nein", "Newsletter": "nein|0|N|0.0", "Receives newsletter?": "no", "Marketing": "N",
		"Werbung erlaubt": "nein", "Canceló la suscripción a todo el correo": "Sí", "Keine Werbung": "ja",
		"Werbesperre": "ja", "ausgetragen": "1",
		"Einwilligung": "verweigert|abgelehnt|zurückgezogen|nicht erteilt|Nicht gewährt|keine|widerrufen",
		"eu_consent":   "denied|refused|declined|not given|revoked|DENIED",
		"removed_at":   "2023-05-01 10:00:00|1683000000|t", "cancelled_at": "2023-05-01", "canceled_at": "2023-05-01",
		"Inactive since": "2023-05-01", "Austritt": "31.12.2022", "Gekündigt zum": "31.12.2022",
		"is_deleted": "t", "verified": "FALSE", "Email Bounced Reason": "550 no such user", "Bounce reason": "mailbox full",
		"unsubscribed_at": "soon|see notes|2023-05-01|May 3, 2023|Wednesday, September 13, 2023 at 10:11:12 AM|x|1683000000",
		"unsubscribed":    "✓|☑|✅ yes|1.0", "isUnsubscribed?": "true",
		"Anything": `rejected|no longer subscribed|manually unsubscribed|suspended|DNC|do not contact|do not email|gone|` +
			`gebounced|gebounct|Widerruf|Widerspruch|Rückläufer|refusé|retiré|sur liste noire|pourriel|indésirable|` +
			`opposition|rechazado|correo no deseado|"unsubscribed"|["unsubscribed"]|❌ unsubscribed|⛔️ Abgemeldet|` +
			`ｕｎｓｕｂｓｃｒｉｂｅｄ|<b>unsubscribed</b>|` +
			`<span class="label label-danger" style="color: red; font-weight: bold">Unsubscribed</span>|- unsubscribed -`,
		"Order status": "unsubscribed|bounced", "Block": "yes", "emailoptin": "no", "isspam": "yes",
		"SMS/email consent":    "no",
		"subscription_deleted": "1683000000", "Keine Newsletter": "ja|✗", "Newsletter erwünscht": "✗|❌|☐",
		"dadodebaja": "sí",
		"Opted":      "no",
	} {
		for cell := range strings.SplitSeq(cells, "|") {
			if few, many := fates(t, column, cell); few == "active" || many == "active" {
				t.Errorf("%s: %s: %s, among many %s", column, cell, few, many)
			}
		}
	}
}

// Cells that don't mean that a person left neither end a subscription nor cause a question.
func TestOrdinaryPeopleStay(t *testing.T) {
	t.Parallel()
	for column, cells := range map[string]string{
		"unsubscribed_at": "nein|n/a|#N/A|None|NaN|NaT|nil|undefined|(none)|(empty)|[]|{}|—|–|-|leer|0.0|" +
			"1970-01-01 00:00:00|1970-01-01T00:00:00Z|0001-01-01|0001-01-01T00:00:00Z|" +
			"Invalid date|Not unsubscribed|12/31/1969|null|\\N|",
		"Unsubscribed": "None|n/a|—|false|no|Nein", "Bounce reason": "—|n/a|", "removed_at": "NULL|0000-00-00 00:00:00|",
		"Options": "no|0|Yes", "Adoption": "no", "Optician": "no", "Adopting": "no", "Blockchain": "no|yes",
		"Order status": "cancelled|rejected", "Payment": "declined|refused", "City": "Baja", "Ort": "Baja",
		"Notes": "no|met in Baja", "Newsletter": "ja|Y|1.0|yes", "Abonniert": "Ja", "Keller": "nein", "Norm": "no",
		"Accepts SMS Marketing": "no", "Do Not Call": "1", "Subscription tier": "free", "Newsletter topic": "Weekly",
	} {
		for cell := range strings.SplitSeq(cells, "|") {
			if few, _ := fates(t, column, cell); few != "active" {
				t.Errorf("%s: %s: %s", column, cell, few)
			}
		}
	}
}

// A column of names, places or the list's own fields is never taken for the status, and in other columns a few words
// among many other cells don't make a status. Words about email still cause a question.
func TestNamesAreNoStatus(t *testing.T) {
	t.Parallel()
	others := func(cells string) (file string) {
		for i := range 2000 {
			file += fmt.Sprintf("b%d@x.example,", i) + strings.ReplaceAll(cells, "#", fmt.Sprint(i)) + "\n"
		}
		return file
	}
	for _, test := range []struct{ column, cell, others, want string }{
		{"First Name", "Gone", "Ann", ""},
		{"First Name", "Gone", "Ann #", ""},
		{"FNAME", "Gone", "Ann #", ""},
		{"Nachname", "gesperrt", "Meyer #", ""},
		{"Prénom", "Baja", "Anne #", ""},
		{"Apellidos", "Baja", "Gil #", ""},
		{"Company", "Inactive", "Firm #", ""},
		{"Ville", "Retire", "Lyon #", ""},
		{"Plaats", "gone", "Delft #", ""},
		{"First Name", "unsubscribed", "Ann #", "asked"},
		{"Company", "Bounced", "Firm #", "asked"},
		{"Nickname", "Gone", "Ann #", "asked"},
		{"Remarks", "unsubscribed", "likes tea", "asked"},
		{"Club", "cancelled", "gold", "asked"},
		{"Kind", "unsubscribed", "active", "likely"},
		{"Kind", "gone", "", "likely"},
		{"Newsletter", "no", "yes", "likely"},
		{"Unsubscribe reason", "too many emails", "", "likely"},
		{"Tags", "unsubscribed;vip", "tag #;vip", "likely"},
	} {
		file := "email," + test.column + "\nann@x.example," + test.cell + "\n" + others(test.others)
		s := look(t, file)
		fields := core.Fields{{Name: "circle", Label: "Club"}}
		r, err := NewReader(strings.NewReader(file), Options{Survey: s, Fields: fields})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, q := range r.Questions(s) {
			if got = "asked"; q.Likely {
				got = "likely"
			}
		}
		if got != test.want {
			t.Errorf("%s: %s among %s: %q, want %q", test.column, test.cell, test.others, got, test.want)
		}
	}
}

// A no among times of subscribing causes a question.
func TestNoAmongTimes(t *testing.T) {
	t.Parallel()
	for column, cell := range map[string]string{"Angemeldet": "nein", "Inscrit": "non", "Einwilligung": "verweigert"} {
		file := "email," + column + "\na@x.example,2023-05-01\nb@x.example,2023-05-02\nc@x.example,%s\n"
		if asked := askedOf(t, fmt.Sprintf(file, cell), nil); len(asked) != 1 {
			t.Errorf("%s: %q", column, asked)
		}
		if asked := askedOf(t, fmt.Sprintf(file, "2023-05-03"), nil); len(asked) != 0 {
			t.Errorf("%s: %q", column, asked)
		}
	}
}

// In a column of times of leaving, a text that is not a time is an error in its line.
func TestNoTimeOfLeaving(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"see notes": "error", "?!": "error", "☠": "error", "2023-05-01": "unsubscribed 2023-05-01", "yes": "unsubscribed",
		"t": "unsubscribed", "1683000000": "unsubscribed",
	} {
		if few, many := fates(t, "unsubscribed_at", cell); few != want || many != want {
			t.Errorf("%s: %s, %s", cell, few, many)
		}
	}
}

// Tags that mean that a person left cause a question. If the column is then declared a status column, people with these
// tags have left, and people with other tags stay subscribed.
func TestTagsThatSayWhoLeft(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(`"a tag like any other",`, 400)
	for column, cells := range map[string][]string{
		"TAGS": {
			`"unsubscribed","vip"`, `"vip","unsubscribed"`, `"vip", "Cleaned"`, `["vip","unsubscribed"]`, `vip;unsubscribed`,
			`vip, inactive`,
			long + `"unsubscribed"`, `* myContacts ::: unsubscribed`, `"vip","abgemeldet"`, `"plan: pro","status: bounced"`,
			"vip unsubscribed", "#unsubscribed #vip", "vip / Unsubscribed", "vip, unsubscribed customers", "unsub 2021; gold",
		},
		"Schlagworte": {"Kunde, Abgemeldet", "gelöscht; Kunde"},
		"Anything": {
			`"vip","deleted"`, "vip|unsubscribed", "Kunde, abgemeldet", `{"vip":true,"state":"bounced"}`,
			"opted-out, moved",
		},
	} {
		for _, cell := range cells {
			if few, many := fates(t, column, cell); few != "asked" || many != "asked" {
				t.Errorf("%s: %.40s: %s, among many %s", column, cell, few, many)
			}
		}
	}
	for column, cells := range map[string][]string{
		"TAGS": {
			`"vip","gold"`, `"subscribed","vip"`, "never unsubscribed, vip", "unsubscribed: no; vip",
			`{"unsubscribed":false}`,
		},
		"Note": {"moved away, cancelled her trip", "Baja, Mexico", "12:30, gone", "invalid, but friendly"},
		"City": {"Baja, Mexico"},
	} {
		for _, cell := range cells {
			if few, many := fates(t, column, cell); few != "active" || many != "active" {
				t.Errorf("%s: %s: %s, among many %s", column, cell, few, many)
			}
		}
	}
	file := "email,%s\na@x.example,\"\"\"unsubscribed\"\",\"\"vip\"\"\"\nb@x.example,\"\"\"vip\"\",\"\"gold\"\"\"\nc@x.example,vip\n" +
		"d@x.example,\n" + "e@x.example,\"vip;bounced;unsubscribed\"\nf@x.example,unconfirmed|vip\n"
	for column, want := range map[string]string{
		"TAGS":  "a unsubscribed,b active,c active,d active,e bounced,f pending",
		"State": "a unsubscribed,b error,c error,d error,e bounced,f pending",
	} {
		got := standings(t, fmt.Sprintf(file, column), map[string]string{column: UseStatus})
		if s := strings.Join(got, ","); s != want {
			t.Errorf("%s: %s, want %s", column, s, want)
		}
	}
}

// If a cell contains more than the word for leaving, it is understood or causes a question. A denied word does neither.
func TestWordsWithExtras(t *testing.T) {
	t.Parallel()
	for column, cells := range map[string][]string{
		"Status": {
			"Unsubscribed (2021-03-01)", "vip / Unsubscribed", "#unsubscribed #vip", "Unsubscribed by admin on 1 March",
			"DNC = 1",
			"do not contact: yes", "no longer subscribed since May", "active, then opted out", "отписан 01.03.2021",
		},
		"Mail state": {"Unsubscribed (2021-03-01)", "vip unsubscribed", "inactive since May", "VIP – abgemeldet am 1.3."},
		"Anything": {
			"Unsubscribed (2021-03-01)", "unsubscribed 2021-03-01", "#unsubscribed #vip", "vip / Unsubscribed", "DNC = 1",
			"do not contact: yes", "see https://x.example/a; unsubscribed", "unsubscribed: yes",
		},
		"Consent": {"opted out by phone", "revoked (letter)"},
	} {
		for _, cell := range cells {
			if few, many := fates(t, column, cell); few == "active" || many == "active" || few == "error" {
				t.Errorf("%s: %s: %s, among many %s", column, cell, few, many)
			}
		}
	}
	for column, cells := range map[string][]string{
		"Mail state": {
			"never unsubscribed", "not unsubscribed", "not yet unsubscribed", "unsubscribed: no",
			"unsubscribed = 0", "unsubscribed: false", "Bonn",
		},
		"Anything": {
			"never unsubscribed", "unsubscribed: no", "unsubscribed=0", "unsubscribed: false",
			"https://x.example/unsubscribe?id=1",
			"she asked how to get unsubscribed in 2021", `{"unsubscribed":false}`, "unsubscribed: no, vip: yes", "PL/opt/2021",
		},
		"Link": {"https://x.example/unsubscribed/1", "see https://x.example/unsubscribed, or call"},
	} {
		for _, cell := range cells {
			if few, many := fates(t, column, cell); few != "active" || many != "active" {
				t.Errorf("%s: %s: %s, among many %s", column, cell, few, many)
			}
		}
	}
	for _, cell := range []string{"never unsubscribed", "unsubscribed: no"} {
		if few, _ := fates(t, "Status", cell); few != "error" && few != "active" {
			t.Errorf("%s: %s", cell, few)
		}
	}
}

// A word has only one meaning across all languages.
func TestWordsMeanOneThing(t *testing.T) {
	t.Parallel()
	first := map[string]standing{}
	for said, words := range wordsOfStanding {
		for word := range strings.FieldsSeq(words) {
			if was, twice := first[word]; twice && was != said {
				t.Errorf("%s: %v and %v", word, said, was)
			}
			first[word] = said
		}
	}
}

// Words for leaving are also understood in languages that the console doesn't have.
func TestWordsOfOtherLanguages(t *testing.T) {
	t.Parallel()
	for column, cells := range map[string][]string{
		"Stato":    {"Disiscritto", "Cancellata", "Rimbalzato", "Bloccato"},
		"Staat":    {"Uitgeschreven", "afgemeld", "Onbestelbaar", "Geblokkeerd"},
		"Situação": {"Descadastrado", "Removida", "Não inscrito", "Devolvido"},
		"Stan":     {"Wypisany", "Usunięta", "Odbity", "Zablokowany"},
		"Статус":   {"отписан", "Отписался", "отписка", "Отписана", "жалоба", "Заблокирован", "ОТПИСАН 01.03.2021"},
		"Anything": {
			"отписан", "Odhlášen", "Avprenumererad", "Afmeldt", "Avmeldt", "Abonelikten çıktı", "Wypisał się",
			"відписаний",
		},
		"Отписался": {"да", "1"}, "Odhlášen": {"ano"}, "Afmeldt": {"ja"}, "Abonelikten çıktı": {"evet"}, "Wypisany": {"tak"},
		"Подписан": {"нет"}, "Odebírá": {"ne"}, "Zgoda": {"nie"}, "Samtycke": {"nej"},
	} {
		for _, cell := range cells {
			if few, many := fates(t, column, cell); few == "active" || many == "active" {
				t.Errorf("%s: %s: %s, among many %s", column, cell, few, many)
			}
		}
	}
}
