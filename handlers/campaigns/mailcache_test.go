package campaigns

import (
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/mail"
)

// An email that pages show is compiled once, and again after its source has changed. The size of the cache is limited.
func TestMailsArePutTogetherOnce(t *testing.T) {
	var k mailCache
	of := func(job string, change ...func(*mail.BulkSpec)) *mail.BulkSpec {
		spec := &mail.BulkSpec{
			From: mail.Address{Email: "a@acme.example"}, ListID: core.NewID(), JobID: job, TenantID: core.NewID(), Subject: "Hi",
			HTML: "<p>" + strings.Repeat("x", 1<<19), Mended: map[string]string{"https://a.example/": "https://b.example/"},
		}
		spec.ListID, spec.TenantID = "l", "t"
		for _, f := range change {
			f(spec)
		}
		return spec
	}
	compile := func(shown string, spec *mail.BulkSpec) *mail.Bulk {
		bulk, err := k.compile(shown, spec)
		if err != nil {
			t.Fatal(err)
		}
		return bulk
	}
	first := compile("view", of("1"))
	if compile("view", of("1")) != first {
		t.Error("an equal mail is compiled again")
	}
	for name, other := range map[string]*mail.Bulk{
		"another job": compile("view", of("2")), "another way": compile("archive", of("1")),
		"a link mended": compile("view", of("1",
			func(s *mail.BulkSpec) { s.Mended["https://a.example/"] = "https://c.example/" })),
		"a notice": compile("view", of("1", func(s *mail.BulkSpec) { s.Notice = "Corrected" })),
	} {
		if other == first {
			t.Errorf("%s shows the mail of before", name)
		}
	}
	for _, job := range []string{"3", "4", "5", "6", "7", "8", "9", "10", "11", "12"} {
		compile("view", of(job))
		held := 0
		for _, m := range k.mails {
			held += m.size()
		}
		if held != k.size || held > mailsKept {
			t.Errorf("%d bytes are held, %d counted", held, k.size)
		}
	}
	if _, err := k.compile("view", of("13", func(s *mail.BulkSpec) { s.HTML = "{{ if" })); core.KindOf(err) != core.Invalid {
		t.Errorf("a mail that can't be compiled: %v", err)
	}
}
