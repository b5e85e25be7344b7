package subscribercsv

import (
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"newsletterd/core"
)

// accepted returns the addresses that an import takes from a text.
func accepted(t *testing.T, text string) (addresses []string) {
	t.Helper()
	p, other, err := ReadPeople(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if p != nil {
		other = p
	}
	c, err := NewReader(other, Options{})
	for err == nil {
		row, _, fault := c.Next()
		if _, isLine := fault.(LineError); fault != nil && !isLine {
			if fault != io.EOF {
				t.Errorf("%q: %v", text, fault)
			}
			return addresses
		}
		if fault == nil {
			addresses = append(addresses, string(row.Email))
		}
	}
	return addresses
}

// A line with anything but names next to the addresses can be about a person who left.
func TestPeopleWhoLeftAreNotAccepted(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"ann@x.test; opted out", "ann@x.test;opted;out", "ann@x.test; not subscribed", "Do not email: ann@x.test",
		"ann@x.test;widerrufen", "ann@x.test;inactive", "ann@x.test;cancelled", "ann@x.test,Ann,deleted",
		"ann@x.test,no", "ann@x.test,0", "ann@x.test;Ann;1", "ann@x.test,n", "ann@x.test Ann Gray n",
		"abgemeldet: ann@x.test", "ann@x.test (unsubscribed)", "Do not email <ann@x.test>", "<ann@x.test> no",
		`"Gray, Ann, deleted" <ann@x.test>`, `"out, opted" <ann@x.test>`, `"ann@x.test","opted out"`,
		`ann@x.test "gone"`,
		"ann@x.test\u00a0unsubscribed", "ann@x.test\u00a0opted\u202fout", "ann@x.test\t\u00a0INACTIVE",
		"ann@x.test；unsubscribed", "ann@x.test，deleted", "abgemeldet：ann@x.test", "ann@x.test ＧＯＮＥ",
		"ann@x.test;GELÖSCHT", "ann@x.test;gelo\u0308scht", "ann@x.test;gel\xf6scht", "ann@x.test;gel\x9ascht",
		"ann@x.test;un\u200bsubscribed", "ann@x.test;désabonnée", "ann@x.test;ОТПИСАН", "ann@x.test; İnaktif silindi",
		"ann@x.test ::: unsubscribed", "Ann <ann@x.test> ::: gone", "mailto:ann@x.test?subject=unsubscribe",
		"unsubscribed|ann@x.test", "gone=ann@x.test", "ann@x.test;2024-05-01", "ann@x.test;✗", "=SUM(1) <ann@x.test>",
		"ann@x.test not interested", "ann@x.test Abmeldung Newsletter", "no ann@x.test, bob@x.test",
		"ann@x.test bob@x.test",
		"ann@x.test;" + strings.Repeat("Ann ", 7), "ann@x.test;" + strings.Repeat("x", 101), "ann@x.test; Ann;;gone",
		"Ann Gray ann@x.test Block", "Ann ann@x.test Gone", "Ann Gray, Block <ann@x.test>", "ann@x.test;Ann, Gone",
		"ann@x.test\tAnn Gray, Block", "ann@x.test,Address Gone", "Mailbox Gone <ann@x.test>", "Please Block <ann@x.test>",
		"ann@x.test;\u202fno", "A <a@x.test>, b@x.test; gone", "b@x.test; gone, <a@x.test>", "Ann\x00 <ann@x.test>",
	} {
		if got := accepted(t, "ok@x.test\n"+line+"\n"); !slices.Equal(got, []string{"ok@x.test"}) {
			t.Errorf("%q: %q", line, got)
		}
		got := accepted(t, line+"\nok@x.test\n")
		if slices.ContainsFunc(got, func(address string) bool { return address != "ok@x.test" }) {
			t.Errorf("%q as the first line: %q", line, got)
		}
	}
	for _, line := range []string{ // the first line can be about the next ones
		"Unsubscribed Members <news@x.test>", "+ new@x.test\n- ann@x.test",
		"Do not email: ann@x.test", "Do not email <ann@x.test>", "abgemeldet：ann@x.test", "ann@x.test; opted out",
	} {
		if got := accepted(t, line+"\nok@x.test\n"); got != nil {
			t.Errorf("%q as a heading: %q", line, got)
		}
	}
	for _, name := range []string{
		"J. Klein", "Ann J. Gray", "Ann J Gray", "Seán O’Neil-Brown", "Mai Nguyen", "Łucja", "Анна", "J\xf6rg",
		"'Ann Gray'",
	} {
		if got := accepted(t, name+" <ok@x.test>\nok@x.test;"+name); len(got) != 2 {
			t.Errorf("%q: %q", name, got)
		}
	}
	for name, address := range map[string]string{ // the address has the name, too
		"Gerd Gone": "gone.gerd@x.test", "Anna Maria Block": "amblock@x.test", "Block, Anna": "a.block@x.test",
	} {
		if got := accepted(t, name+" <"+address+">\n"+address+";"+name); len(got) != 2 {
			t.Errorf("%q: %q", name, got)
		}
	}
}

// Lines above a header can look like a person, and a status can be on a line of its own.
func TestPeopleAreNoTable(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ok@x.test\n", peeked/10)
	for text, want := range map[string]int{
		"Export for info@shop.test\nemail;status\nann@x.test;unsubscribed\n":          0,
		"Export for info@shop.test\n\nName\tE-Mail\tAbgemeldet\nAnn\tann@x.test\tx\n": 0,
		"Export for info@shop.test\n\"Name\"|\"Status\"\nann@x.test\n":                0,
		"ok@x.test\nUnsubscribed:\nann@x.test\n":                                      0,
		"ann@x.test\nAnn\nopted out\nbob@x.test\n":                                    0,
		"ann@x.test\n0\nbob@x.test\n":                                                 0,
		"ok@x.test\nYou can unsubscribe at any time with the link below.\nok@x.test":  2,
		long + "Abgemeldet:\nann@x.test\nAnn <ann@x.test>\n":                          peeked / 10,
	} {
		got := accepted(t, text)
		if len(got) != want || slices.Contains(got, "ann@x.test") {
			t.Errorf("%.60q: %d people, want %d", text, len(got), want)
		}
	}
}

func FuzzPeopleWithStatus(f *testing.F) {
	words := slices.Sorted(maps.Keys(statusWords))
	f.Add("ann@x.test;", "", uint16(1))
	f.Add("Ann <ann@x.test>", ", Gray", uint16(2))
	f.Add("mailto:ann@x.test?", "::: b@x.test", uint16(3))
	f.Fuzz(func(t *testing.T, before, after string, n uint16) {
		line := before + " " + words[int(n)%len(words)] + " " + after
		if strings.ContainsAny(line, "\r\n") || len(line) > maxPeopleLine/2 {
			t.Skip()
		}
		if found := peopleOf(cleanCell(line)); found != nil {
			t.Errorf("%q: %q", line, found)
		}
		for _, s := range spellings(unreadLine(cleanCell(line))) {
			if _, err := core.ParseEmail(cleanAddress(s)); err == nil {
				t.Errorf("%q became the address %q", line, s)
			}
		}
	})
}

// A status word is found in any line, with all forms of its letters.
func TestPeopleWithAnyStatusWord(t *testing.T) {
	t.Parallel()
	for word := range statusWords {
		for _, line := range []string{"ann@x.test;" + word, "Ann " + strings.ToUpper(word) + " <ann@x.test>"} {
			if found := peopleOf(line); found != nil {
				t.Errorf("%q: %q", line, found)
			}
		}
	}
}
