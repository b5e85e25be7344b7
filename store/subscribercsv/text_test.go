package subscribercsv

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"newsletterd/core"
)

func encoded(t *testing.T, e encoding.Encoding, s string) string {
	t.Helper()
	out, err := e.NewEncoder().String(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Files are read correctly in all encodings and with all line endings that programs write.
func TestFilesAsPeopleHaveThem(t *testing.T) {
	t.Parallel()
	const file = "email,name,note\nanna@b.example,Jürgen Größe,\"a, b\"\nzoe@b.example,Zoë,é\n"
	want := `anna@b.example {"name":"Jürgen Größe","note":"a, b"}|zoe@b.example {"name":"Zoë","note":"é"}`
	le, be := unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	tabs := strings.NewReplacer(",n", "\tn", ",J", "\tJ", ",Z", "\tZ", ",é", "\té", ",\"", "\t\"").Replace(file)
	for name, text := range map[string]string{
		"LF":                        file,
		"CR LF":                     strings.ReplaceAll(file, "\n", "\r\n"),
		"CR":                        strings.ReplaceAll(file, "\n", "\r"),
		"CR CR LF":                  strings.ReplaceAll(file, "\n", "\r\r\n"),
		"no last line end, CR":      strings.TrimSuffix(strings.ReplaceAll(file, "\n", "\r"), "\r"),
		"byte order mark":           ByteOrderMark + file,
		"UTF-16 LE":                 encoded(t, le, ByteOrderMark+file),
		"UTF-16 BE":                 encoded(t, be, ByteOrderMark+strings.ReplaceAll(file, "\n", "\r\n")),
		"UTF-16 LE, no mark":        encoded(t, le, file),
		"UTF-16 BE, no mark, CR":    encoded(t, be, strings.ReplaceAll(file, "\n", "\r")),
		"Excel's Unicode Text":      encoded(t, le, ByteOrderMark+strings.ReplaceAll(tabs, "\n", "\r\n")),
		"tabs":                      tabs,
		"bars":                      strings.ReplaceAll(tabs, "\t", "|"),
		"Windows-1252":              encoded(t, charmap.Windows1252, file),
		"Mac Roman, CR":             encoded(t, charmap.Macintosh, strings.ReplaceAll(file, "\n", "\r")),
		"Mac Roman, LF":             encoded(t, charmap.Macintosh, file),
		"sep=,":                     "sep=,\r\n" + strings.ReplaceAll(file, "\n", "\r\n"),
		"SEP in quotes, and a mark": ByteOrderMark + "\"SEP=\t\"\n" + tabs,
		"empty lines":               "\n\n" + strings.ReplaceAll(file, "\n", "\n\n"),
	} {
		s, err := Look(t.Context(), strings.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := readSurveyed(t, text, s); got != want {
			t.Errorf("%s: %s\n%+v", name, got, s)
		}
		if got := readSurveyed(t, text, nil); got != want {
			t.Errorf("%s, by its beginning: %s", name, got)
		}
		// The text of an uploaded file is read again by the import.
		again, err := io.ReadAll(Text(iotest.OneByteReader(Text(iotest.HalfReader(strings.NewReader(text))))))
		if err != nil || readSurveyed(t, string(again), s) != want {
			t.Errorf("%s, read twice: %q, %v", name, again, err)
		}
	}
}

func readSurveyed(t *testing.T, text string, s *Survey) string {
	t.Helper()
	r, err := NewReader(strings.NewReader(text), Options{Survey: s})
	if err != nil {
		t.Error(err)
		return ""
	}
	lines, err := all(r)
	if err != nil {
		t.Error(err)
	}
	return strings.Join(lines, "|")
}

// A line that only names the delimiter is counted like any other, so error messages have the right line number.
func TestLinesAreCountedAsInTheFile(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"sep=;\nemail;name\nbad;x\n", "sep=;\remail;name\rbad;x\r", "\nemail;name\nbad;x\n",
	} {
		if got := readSurveyed(t, text, nil); got != `line 3: "bad" is not a valid email address` {
			t.Errorf("%q: %s", text, got)
		}
	}
}

// The encoding follows from the whole file, not from its first cell.
func TestEncodingByTheWholeFile(t *testing.T) {
	t.Parallel()
	names := "email,name\na@b.example,Zoë\nb@b.example,René Müller\nc@b.example,D’Angelo\nd@b.example,Señor Ångström\n" +
		"e@b.example,MÜLLER Straße\nf@b.example,Løkke\n"
	for name, e := range map[string]encoding.Encoding{Windows1252: charmap.Windows1252, MacRoman: charmap.Macintosh} {
		if s := look(t, encoded(t, e, names)); s.Encoding != name {
			t.Errorf("%s, not %s", s.Encoding, name)
		}
		for _, one := range []string{
			"Müller", "José", "François", "Gößweinstein", "Åse", "Ærø", "Éric", "Münch – Graf", "„Bär“", "MÜLLER", "Ölmühle",
			"Conceição", "João", "Muñoz", "CAFÉ", "España ¿qué?", "niño’s",
		} {
			if s := look(t, encoded(t, e, "email,name\na@b.example,"+one+"\n")); s.Encoding != name {
				t.Errorf("%s: %s, not %s", one, s.Encoding, name)
			}
		}
	}
}

// Files that are not text are rejected with advice.
func TestWorkbooksAreRefused(t *testing.T) {
	t.Parallel()
	for want, text := range map[string]string{
		".xlsx":       "PK\x03\x04\x14\x00\x06\x00\x08\x00\x00\x00!\x00[Content_Types].xml",
		".ods":        "PK\x03\x04\x14\x00mimetypeapplication/vnd.oasis.opendocument.spreadsheetPK",
		"unpack":      "PK\x03\x04\x14\x00audience.csv",
		".xls)":       "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\x00\x00",
		"gzip":        "\x1f\x8b\x08\x00",
		"PDF":         "%PDF-1.7",
		"web page":    "\n<html><table><tr><td>email</td></tr></table>",
		"an XML file": "<?xml version=\"1.0\"?><Workbook/>",
	} {
		_, err := Look(t.Context(), strings.NewReader(text))
		if core.KindOf(err) != core.MediaType || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		if _, err = NewReader(strings.NewReader(text), Options{}); core.KindOf(err) != core.MediaType {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Quotes can be escaped by a backslash. A backslash at the end of a cell and the JSON of an export stay unchanged.
func TestQuotesEscapedByBackslash(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`"a@b.example","say \"hi\", Ann"`:                           `say "hi", Ann`,
		`"a@b.example","say \"hi\""`:                                `say "hi"`,
		"\"x@b.example\",\"5\\\" disk\"\n" + `"a@b.example","15\""`: `15"`,
		`"a@b.example","C:\"`:                                       `C:\`,
		`"a@b.example","C:\"` + "\n" + `"b@b.example","D:\\x"`:      `C:\`,
		`"a@b.example","{""a"":""b\""c""}"`:                         `{"a":"b\"c"}`,
		`a@b.example,a\"b`:                                          "",
		`a@b.example,a\b`:                                           `a\b`,
	} {
		file := "email,note\n" + text + "\n"
		s := look(t, file)
		r, err := NewReader(iotest.OneByteReader(strings.NewReader(file)), Options{Survey: s})
		got := ""
		for err == nil {
			var record []string
			if _, record, err = r.Next(); err == nil && record[0] == "a@b.example" {
				got = record[1]
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q (%v)", text, got, want, err)
		}
	}
}

// For any bytes, reading terminates, and the text doesn't depend on the sizes of reads.
func FuzzText(f *testing.F) {
	for _, s := range []string{
		"email\ra@b.example\r", "\xff\xfee\x00m\x00", "\xfe\xff\x00e", "e\x00m\x00a\x00i\x00l\x00", "\"a\r\nb\"\rc\r\r\nd",
		"\xef\xbb\xbfemail\r\r\n", "PK\x03\x04", "sep=;\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		once, err := io.ReadAll(Text(bytes.NewReader(file)))
		if err != nil {
			return
		}
		small, err := io.ReadAll(Text(iotest.OneByteReader(bytes.NewReader(file))))
		if err != nil || !bytes.Equal(once, small) {
			t.Fatalf("%q, byte by byte %q, %v", once, small, err)
		}
		if len(file) > 1 && (file[0] == 0xff && file[1] == 0xfe) && !utf8.Valid(once) {
			t.Fatalf("UTF-16 becomes %q", once)
		}
	})
}

// For every file, a survey terminates and counts at most as many rows as there are lines. Reading with the survey finds
// the same rows.
func FuzzSurvey(f *testing.F) {
	for _, s := range []string{
		"sep=;\nemail;n\na@b.example;1\n", "email\tn\na@b.example\t\"x\\\"y\"\n", "email|n\n\"a\\\"\"|\n",
		"email,d\na@b.example,3/5/2023\n", "email;n\na@b.example;J\x9frgen\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, file string) {
		s, err := Look(t.Context(), strings.NewReader(file))
		if err != nil {
			return
		}
		o, err := open(strings.NewReader(file), s)
		if err != nil {
			return // escaped quotes that only the whole file shows can be in the header
		}
		rows := int64(0)
		for {
			_, err := o.read()
			if err == nil {
				rows++
			} else if _, fault := errors.AsType[LineError](err); !fault {
				break
			}
		}
		if lines := int64(strings.Count(file, "\n") + strings.Count(file, "\r") + 1); s.Rows > lines ||
			!s.Backslash && s.Rows != rows {
			t.Fatalf("%d rows of %d lines, read %d", s.Rows, lines, rows)
		}
	})
}
