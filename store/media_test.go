package store_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/files"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
)

// kept returns the numbers of files and chunks.
func kept(t *testing.T, s *storetest.Seeder) [2]int {
	t.Helper()
	s.Clean(people.Retention{})
	return [2]int{s.Count("SELECT count(*) FROM media_file"), s.Count("SELECT count(*) FROM media_chunk")}
}

func TestPicturesComeBackAsTheyWere(t *testing.T) {
	s := storetest.Seed(t, nil)
	for _, size := range []int{1, files.ChunkSize - 1, files.ChunkSize, 2*files.ChunkSize + 77} {
		want := noise(size)
		m := s.NewMedia("a", []string{string(want)})
		f, _, err := s.MediaFile(t.Context(), m.Mail.Digits())
		if err != nil || f.Bytes != int64(size) || f.Type != "image/png" {
			t.Fatalf("%d bytes: %+v %v", size, f, err)
		}
		if err := iotest.TestReader(s.OpenMedia(t.Context(), &f), want); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// The same image is stored once, even if it is uploaded twice at the same time, and is removed when nothing uses it
// anymore.
func TestTheSamePictureIsKeptOnce(t *testing.T) {
	s := storetest.Seed(t, nil)
	s.NewTenant()
	these := []string{strings.Repeat("a", files.ChunkSize+1), "b"}
	var ms [4]core.Media
	var all sync.WaitGroup
	for i := range ms {
		all.Go(func() { ms[i] = s.NewMedia("same", these) })
	}
	all.Wait()
	foreign := *s
	foreign.TenantID = ""
	other := foreign.NewMedia("same", these)
	if n := kept(t, s); n != [2]int{4, 6} {
		t.Fatalf("%d files, %d chunks", n[0], n[1])
	}
	if n, err := s.MediaBytes(t.Context(), ms[0].TenantID); err != nil || n != files.ChunkSize+2 {
		t.Errorf("%d bytes %v", n, err)
	}
	for i, m := range ms {
		if n := kept(t, s); n != [2]int{4, 6} {
			t.Errorf("after %d were deleted: %v", i, n)
		}
		s.Must(s.DeleteMedia(t.Context(), m.ID, false, "test", s.Time()))
	}
	if n := kept(t, s); n != [2]int{2, 3} {
		t.Errorf("after all: %v", n)
	}
	f, _, err := s.MediaFile(t.Context(), ms[0].Mail.Digits())
	if err != nil || f.No != other.Mail.No {
		t.Errorf("the other tenant's: %+v %v", f, err)
	}
	s.Must(s.DeleteMedia(t.Context(), other.ID, false, "test", s.Time()))
	if _, _, err := s.MediaFile(t.Context(), ms[0].Mail.Digits()); !errors.Is(err, core.ErrNotFound) {
		t.Error(err)
	}
	if n := kept(t, s); n != [2]int{} {
		t.Errorf("in the end: %v", n)
	}
}

func TestPicturesHaveAQuota(t *testing.T) {
	s := storetest.Seed(t, nil)
	m := s.NewMedia("a", []string{"12345", "1234567890"})
	limits := core.MediaLimits{BytesPerTenant: 20}
	add := func(content string) error {
		next, err := core.NewMedia(m.TenantID, "test", core.MediaInput{}, s.Time())
		s.Must(err)
		sum := sha256.Sum256([]byte(content))
		next.Mail = core.MediaFile{
			SHA256: hex.EncodeToString(sum[:]), Type: "image/gif", Width: 1, Height: 1, Bytes: int64(len(content)),
			Data: []byte(content),
		}
		next.Full = next.Mail
		_, err = s.AddMedia(t.Context(), next, limits, "test")
		return err
	}
	if err := add("123456"); core.KindOf(err) != core.TooLarge ||
		!strings.Contains(err.Error(), "(limit: 20 bytes, used: 15 bytes)") {
		t.Error(err)
	}
	if err := add("1234567890"); err != nil { // the image exists already
		t.Error(err)
	}
	if err := add("54321"); err != nil {
		t.Error(err)
	}
	if n := kept(t, s); n != [2]int{3, 3} {
		t.Errorf("%v", n)
	}
}

func TestAPictureInUseIsNotDeletedByMistake(t *testing.T) {
	s := storetest.Seed(t, nil)
	l := s.NewList()
	s.TenantID = l.TenantID
	image := func(f core.MediaFile) *string { return new(`<img src="https://x.example` + f.Path("a.png") + `">`) }
	in := func(m core.Media) error { return s.DeleteMedia(t.Context(), m.ID, false, "test", s.Time()) }
	template := s.NewMedia("t.png", []string{"of a template", "the same, larger"})
	s.NewTemplate(core.TemplateInput{Name: new("letter"), BodyHTML: image(template.Full)})
	if err := in(template); !errors.Is(err, &core.Error{Code: "media_in_use"}) ||
		!strings.Contains(err.Error(), `"letter"`) {
		t.Error(err)
	}
	s.NewMedia("t2.png", []string{"another", "the same, larger"}) // this use keeps the file
	s.Must(in(template))

	for _, set := range []func(in *core.TenantInput, address *string){
		func(in *core.TenantInput, address *string) { in.BrandLogoURL = address },
		func(in *core.TenantInput, address *string) { in.BrandDarkLogoURL = address },
	} {
		var change core.TenantInput
		logo := s.NewMedia("logo.png", []string{"a logo"})
		set(&change, new("https://x.example"+logo.Mail.Path("logo.png")))
		s.ChangeTenant(s.TenantID, change)
		if err := in(logo); !errors.Is(err, &core.Error{Code: "media_in_use"}) {
			t.Error(err)
		}
		set(&change, new(""))
		s.ChangeTenant(s.TenantID, change)
		s.Must(in(logo))
	}

	job := s.NewMedia("j.png", []string{"of a job"})
	j := s.NewJob(l.ID, func(r *campaigns.JobRequest) { r.BodyHTML = *image(job.Mail) })
	s.Finish(j)
	if err := in(job); !errors.Is(err, &core.Error{Code: "media_in_use"}) {
		t.Error(err)
	}
	s.Must(s.DeleteMedia(t.Context(), job.ID, true, "test", s.Time()))

	// A job shows its template as it was when the job was created.
	frozen := s.NewMedia("f.png", []string{"of a frozen template"})
	tm := s.NewTemplate(core.TemplateInput{Name: new("frozen"), BodyHTML: image(frozen.Mail)})
	s.NewJob(l.ID, func(r *campaigns.JobRequest) {
		r.Template = []byte(`{"mailer_template_name":"frozen"}`)
		r.BodyHTML, r.BodyText = "", ""
	})
	s.Must(s.DeleteTemplate(t.Context(), tm.ID, false, "test", s.Time()))
	if err := in(frozen); !errors.Is(err, &core.Error{Code: "media_in_use"}) {
		t.Error(err)
	}
}

func TestPicturesGoWithTheirTenant(t *testing.T) {
	s := storetest.Seed(t, nil)
	m := s.NewMedia("a", []string{"mail", strings.Repeat("x", 2*files.ChunkSize)})
	f := s.OpenMedia(t.Context(), &m.Full)
	s.Must(s.DeleteTenant(t.Context(), m.TenantID, "test", s.Time()))
	if _, err := s.Media(t.Context(), m.ID); !errors.Is(err, core.ErrNotFound) {
		t.Error(err)
	}
	later := s.At(s.Time() + 10)
	later.Clean(people.Retention{Deleted: 1})
	if n := kept(t, later); n != [2]int{} {
		t.Errorf("%v", n)
	}
	if _, err := io.Copy(io.Discard, f); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("what was being read: %v", err)
	}
}

// Unfinished images of a process that died are removed after some time.
func TestUploadsOfPicturesThatDiedAreRemoved(t *testing.T) {
	s := storetest.Seed(t, nil)
	s.NewMedia("a", []string{"a"})
	s.SQL("DELETE FROM media")
	s.SQL("UPDATE media_file SET state = 0")
	if n := kept(t, s); n != [2]int{1, 1} {
		t.Errorf("at once: %v", n)
	}
	if n := kept(t, s.At(s.Time()+11*60*1000)); n != [2]int{} {
		t.Errorf("later: %v", n)
	}
}

func TestPicturesAreListedAndFound(t *testing.T) {
	s := storetest.Seed(t, nil)
	var names bytes.Buffer
	for _, name := range []string{"Logo", "Garden", "Team"} {
		m := s.NewMedia(name, []string{name})
		_, err := s.UpdateMedia(t.Context(), m.ID, "test", s.Time(), func(m *core.Media) error {
			return m.Change(core.MediaInput{Alt: new("our " + name)}, s.Time())
		})
		s.Must(err)
		s.TenantID = m.TenantID
	}
	for _, c := range []struct {
		text, want string
		page       core.Page
	}{
		{"", "Team Garden Logo ", core.Page{Limit: 10}},
		{"", "Team Garden ", core.Page{Limit: 2}},
		{"OUR g", "Garden ", core.Page{Limit: 10}},
		{"%", "", core.Page{Limit: 10}},
	} {
		ms, err := s.MediaOf(t.Context(), s.TenantID, c.text, c.page)
		s.Must(err)
		names.Reset()
		for _, m := range ms {
			names.WriteString(m.Name + " ")
		}
		if names.String() != c.want {
			t.Errorf("%q: %s", c.text, names.String())
		}
	}
}

// Images also count as used in the settings of a tenant and its lists, as documents do to which these link, and in what
// replaces a sent text: a corrected web version and a fixed link.
func TestPicturesOfSettingsAndCorrectionsAreInUse(t *testing.T) {
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	s.TenantID = l.TenantID
	s.Readers(l, 1)
	url := func(m core.Media) string { return "https://x.example" + m.Mail.Path("a.png") }
	used := func(by string, use func(url string)) {
		t.Helper()
		m := s.NewMedia(by, []string{rand.Text()})
		s.Must(s.DeleteMedia(t.Context(), s.NewMedia(by, []string{rand.Text()}).ID, false, "test", s.Time()))
		use(url(m))
		err := s.DeleteMedia(t.Context(), m.ID, false, "test", s.Time())
		if !errors.Is(err, &core.Error{Code: "media_in_use"}) || !strings.Contains(err.Error(), "The "+by+` "`) {
			t.Errorf("%s: %v", by, err)
		}
	}
	used("tenant", func(url string) { s.ChangeTenant(l.TenantID, core.TenantInput{BrandLogoURL: &url}) })
	used("tenant", func(url string) {
		s.ChangeTenant(l.TenantID, core.TenantInput{MailTexts: &core.MailTexts{Confirm: &core.MailText{Text: url}}})
	})
	used("list", func(url string) {
		s.Must(s.UpdateList(t.Context(), l.ID, "test", func(l *core.List) error {
			return l.Change(core.ListInput{ConsentText: &url}, s.Time())
		}))
	})
	c := s.NewCampaign(l)
	d, err := s.Draft(t.Context(), &c, 0, plainParts, s.Now)
	s.Must(err)
	j := s.Start(s.SendDraft(&d))
	used("web version", func(url string) {
		text := d.Content.Copy
		text.ID, text.BodyText = core.NewID(), url
		s.Must(s.CorrectCampaign(t.Context(), campaigns.CampaignCorrection{
			CampaignEdit: campaigns.CampaignEdit{ID: c.ID, Actor: "test", Now: s.Now}, Copy: &text,
		}))
	})
	used("job", func(url string) {
		s.SQL("INSERT INTO link (job_no, no, url, target) VALUES (?, 9, 'https://y.example', ?)", j.No, url)
	})
}
