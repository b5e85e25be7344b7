package exports_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store/exports"
	"newsletterd/store/subscribercsv"
)

// pack returns a zip archive with files, given as name and content.
func pack(t testing.TB, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i+1 < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err == nil {
			_, err = io.WriteString(w, files[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const mailchimpColumns = "Email Address,First Name,MEMBER_RATING,OPTIN_TIME,CONFIRM_TIME,LEID,EUID"

// archives are exports as the programs write them.
var archives = map[string][]string{
	"substack": {
		"posts/1.first.html", "<p>Hello email,name</p>",
		"posts/1.delivers.csv", "post_id,timestamp,email\n1,2,eve@e.org\n",
		"posts/1.opens.csv", "post_id,timestamp,email\n1,2,eve@e.org\n",
		"posts.csv", "post_id,post_date,is_published,title,audience\n1.first,2024-05-01,true,First,everyone\n",
		"email_list.cleaned-up.csv", "email,active_subscription,expiry,plan,email_disabled,created_at\n" +
			"ann@e.org,false,,other,false,2023-01-02T03:04:05Z\nbob@e.org,false,,other,true,2023-01-02T03:04:05Z\n",
	},
	"mailchimp": {
		"subscribed_members_export_1.csv", mailchimpColumns + "\nann@e.org,Ann,2,2023-05-03 10:12:00,,1,a\n",
		"unsubscribed_members_export_1.csv",
		mailchimpColumns + ",UNSUB_TIME\nbob@e.org,Bob,2,,,2,b,2024-01-01 10:00:00\n",
		"cleaned_members_export_1.csv", mailchimpColumns + "\ncy@e.org,Cy,2,,,3,c\n",
		"nonsubscribed_members_export_1.csv", mailchimpColumns + "\ndee@e.org,Dee,2,,,4,d\n",
	},
	"": {
		"Active contacts.csv", "email;name\nann@e.org;Ann\n", "__MACOSX/._a.csv", "\x00\x05\x16\x07",
		"lists/Opted out.csv", "E-Mail;Name\nbob@e.org;Bob\n", "Hard bounces.csv", "name,email\nCy,cy@e.org\n",
		"read me.txt", "Hello",
	},
	"listmonk": {
		"subscribers.csv",
		"uuid,email,name,attributes,status\n1,ann@e.org,Ann,{},enabled\n2,bob@e.org,Bob,{},blocklisted\n",
	},
	"kit": {
		"confirmed.csv", "first_name,email_address,state,created_at\nAnn,ann@e.org,active,2023-01-02 03:04:05 UTC\n" +
			"Bob,bob@e.org,cancelled,2023-01-02 03:04:05 UTC\n",
	},
}

// people returns the status of each address in the CSV file of an export.
func people(t *testing.T, e *exports.Export) string {
	t.Helper()
	r := e.CSV(t.Context())
	defer r.Close()
	file, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	s, err := subscribercsv.Look(t.Context(), bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	c, err := subscribercsv.NewReader(bytes.NewReader(file), subscribercsv.Options{Survey: s})
	if err != nil {
		t.Fatalf("%v in %s", err, file)
	}
	if asked := c.Questions(s); len(asked) > 0 {
		t.Errorf("asks about %v", asked)
	}
	var all []string
	for {
		row, _, err := c.Next()
		switch {
		case errors.Is(err, io.EOF):
			return strings.Join(all, " ")
		case err == nil:
			all = append(all, string(row.Email))
		case row.Left:
			all = append(all, fmt.Sprintf("%s:%v%v", row.Email, row.Unsubscribed, row.Block))
		default:
			all = append(all, err.Error())
		}
	}
}

func TestPeople(t *testing.T) {
	for tool, want := range map[string]string{
		"substack":  "ann@e.org bob@e.org:true",
		"mailchimp": "ann@e.org bob@e.org:true cy@e.org:falsebounced dee@e.org:false",
		"":          "ann@e.org bob@e.org:true cy@e.org:falsebounced",
		"listmonk":  "ann@e.org bob@e.org:falsesuppressed",
		"kit":       "ann@e.org bob@e.org:true",
	} {
		file := pack(t, archives[tool]...)
		e, err := exports.Open(t.Context(), bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Errorf("%s: %v", tool, err)
			continue
		}
		if got := people(t, e); got != want || e.Tool != tool {
			t.Errorf("%s: %s has\n     %s\nwant %s", tool, e.Tool, got, want)
		}
	}
}

// Rows with errors stay errors in the merged file, and columns with the same name become one.
func TestMergedFile(t *testing.T) {
	file := pack(t, "a.csv", "email,name\nann@e.org,Ann\nbroken\n",
		"unsubscribed.csv", "E-Mail;name;Gr\xf6\xdfe\nbob@e.org;Bob;4\n\n")
	e, err := exports.Open(t.Context(), bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	r := e.CSV(t.Context())
	defer r.Close()
	got, err := io.ReadAll(r)
	want := "email,name,Größe,file_status\nann@e.org,Ann,,active\nbroken,,,,\nbob@e.org,Bob,4,unsubscribed\n"
	if err != nil || string(got) != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, got, want)
	}
}

func TestNoExport(t *testing.T) {
	for name, file := range map[string][]byte{
		"CSV":      []byte("email\nann@e.org\n"),
		"workbook": pack(t, "[Content_Types].xml", "<x/>", "a.csv", "email\nann@e.org\n"),
		"no CSV":   pack(t, "read me.txt", "Hello"),
		"events":   pack(t, "opens.csv", "email,campaign_id\nann@e.org,1\n"),
		"empty":    pack(t),
	} {
		_, err := exports.Open(t.Context(), bytes.NewReader(file), int64(len(file)))
		if !errors.Is(err, exports.ErrUnknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// special returns an archive with one file of people whose header is changed.
func special(t *testing.T, change func(h *zip.FileHeader)) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	h := &zip.FileHeader{Name: "people.csv", Method: zip.Deflate}
	change(h)
	w, err := z.CreateHeader(h)
	if err == nil {
		_, err = io.WriteString(w, "email\n"+strings.Repeat("ann@e.org\n", 300_000))
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestLimits(t *testing.T) {
	many := make([]string, 0, 2*20_001)
	for i := range 20_001 {
		many = append(many, fmt.Sprint(i), "")
	}
	long := make([]string, 0, 2*300)
	for i := range 300 {
		long = append(long, fmt.Sprint(i)+strings.Repeat("x", 60_000), "")
	}
	large := special(t, func(*zip.FileHeader) {})
	// The size in the table of contents, whose entry begins with this signature.
	at := bytes.LastIndex(large, []byte("PK\x01\x02"))
	claims := func(size uint32) []byte {
		b := bytes.Clone(large)
		binary.LittleEndian.PutUint32(b[at+24:], size)
		return b
	}
	for name, test := range map[string]struct {
		file []byte
		want string
	}{
		"entries":   {pack(t, many...), "too many files"},
		"names":     {pack(t, long...), "too many files"},
		"ratio":     {large, "100 times its size"},
		"size":      {claims(3 << 30), "(limit: 2 GB)"},
		"link":      {special(t, func(h *zip.FileHeader) { h.SetMode(fs.ModeSymlink | 0o777) }), "link"},
		"encrypted": {special(t, func(h *zip.FileHeader) { h.Flags |= 1 }), "encrypted"},
		"cut off":   {large[:len(large)-30], "damaged"},
	} {
		_, err := exports.Open(t.Context(), bytes.NewReader(test.file), int64(len(test.file)))
		if core.KindOf(err) != core.Invalid || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// If an entry is larger than declared, reading it fails.
	lying := claims(1 << 20)
	e, err := exports.Open(t.Context(), bytes.NewReader(lying), int64(len(lying)))
	if err == nil {
		r := e.CSV(t.Context())
		defer r.Close()
		_, err = io.Copy(io.Discard, r)
	}
	if core.KindOf(err) != core.Invalid || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("an entry with more than it claims: %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	for _, files := range archives {
		f.Add(pack(f, files...))
	}
	f.Add([]byte("PK\x05\x06"))
	f.Fuzz(func(t *testing.T, file []byte) {
		e, err := exports.Open(t.Context(), bytes.NewReader(file), int64(len(file)))
		if err != nil {
			if core.KindOf(err) != core.Invalid && !errors.Is(err, exports.ErrUnknown) {
				t.Error(err)
			}
			return
		}
		r := e.CSV(t.Context())
		defer r.Close()
		if _, err := io.Copy(io.Discard, r); err != nil && core.KindOf(err) != core.Invalid {
			t.Error(err)
		}
	})
}

func isInvalid(err error) bool { return core.KindOf(err) == core.Invalid }
