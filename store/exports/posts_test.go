package exports_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"newsletterd/store/exports"
)

const postColumns = "post_id,post_date,is_published,email_sent_at,type,audience,title,subtitle\n"

// A post is published only if a column says so.
func TestStatesOfPosts(t *testing.T) {
	for column, states := range map[string]map[string]bool{
		"status": {
			"Published": true, "sent": true, "confirmed": true, "live": true, "private": false, "unpublished": false,
			"trash": false, "pending": false, "draft": false, "": false,
		},
		"post_status": {"published": true, "private": false},
		"is_public":   {"published": false}, // unknown column
	} {
		for state, published := range states {
			file := pack(t, "posts.csv", "id,title,"+column+",content_html,email_type\n1,A,"+state+",<p>A</p>,news\n")
			e, err := exports.Open(t.Context(), bytes.NewReader(file), int64(len(file)))
			if err != nil {
				t.Fatal(err)
			}
			_, err = e.Posts(t.Context(), now, func(p exports.Post) error {
				if p.Draft == published || p.Kind != "news" {
					t.Errorf("%s %s: draft %v, kind %s", column, state, p.Draft, p.Kind)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
	}
}

// blogs are exports with posts, and the posts expected from them.
var blogs = map[string]struct {
	files []string
	want  []string
}{
	"substack": {
		[]string{
			"posts/11.first-post.html", "<p>One</p>", "posts/12.second.html", "<p>Two</p>",
			"posts/13.third.html", "<p>3</p>",
			"posts/11.first-post.delivers.csv", "post_id,timestamp,email\n1,2,eve@e.org\n",
			"posts.csv", postColumns +
				"11.first-post,2024-05-01T10:00:00.000Z,true,,newsletter,everyone,First,\"Sub, title\"\n" +
				"12.second,2024-05-02T10:00:00.000Z,true,,newsletter,only_paid,Second,\n" +
				"12.second,2024-05-02T10:00:00.000Z,true,,newsletter,everyone,Again,\n" +
				"13.third,,false,,newsletter,everyone,,\n" +
				"14.no-page,2024-05-02T10:00:00.000Z,true,,podcast,everyone,Gone,\n",
		},
		[]string{
			"first-post|First|Sub, title||2024-05-01||<p>One</p>", "second|Second|||2024-05-02|paid|<p>Two</p>",
			"third|Untitled||||draft|<p>3</p>", "skipped 2",
		},
	},
	"beehiiv": {
		[]string{
			"posts.csv", "id,title,subtitle,authors,slug,status,created_at,content_html\n" +
				"post_1,Hello,Sub,Ada,hello-you,published,2024-05-01 10:00:00,<p>A</p>\n" +
				"post_2,Idea,,,idea,draft,,<p>B</p>\n",
		},
		[]string{"hello-you|Hello|Sub|Ada|2024-05-01||<p>A</p>", "idea|Idea||||draft|<p>B</p>"},
	},
	"ghost": {
		[]string{
			"blog.ghost.json", `{"db":[{"meta":{"v":[1,{"a":[]}]},"data":{` +
				`"posts":[{"id":"1","title":"T","slug":"t","html":"<p>A</p>",` +
				`"status":"published","visibility":"members","published_at":"2024-05-01T10:00:00.000Z"},` +
				`{"id":"2","html":null}],` +
				`"posts_authors":[{"post_id":"1","author_id":"9"}],"tags":[{"x":{"y":1}}],` +
				`"users":[{"id":"9","name":"Ada"}]}}]}`,
		},
		[]string{"t|T||Ada|2024-05-01|paid|<p>A</p>", "skipped 1"},
	},
	"mailchimp": {
		[]string{
			"subscribed.csv", mailchimpColumns + "\nann@e.org,Ann,2,2023-05-03 10:12:00,,1,a\n",
			"campaigns/1_may.html",
			"<!doctype html><html><head><title>May &amp; June</title></head><body>A</body></html>",
		},
		[]string{
			"|May & June||||draft|<!doctype html><html><head><title>May &amp; June</title></head><body>A</body></html>",
		},
	},
}

func TestPosts(t *testing.T) {
	for tool, test := range blogs {
		file := pack(t, test.files...)
		e, err := exports.Open(t.Context(), bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Errorf("%s: %v", tool, err)
			continue
		}
		var got []string
		skipped, err := e.Posts(t.Context(), now, func(p exports.Post) error {
			day, marks := "", ""
			if p.PostedAt > 0 {
				day = p.PostedAt.Time().Format("2006-01-02")
			}
			if p.Draft {
				marks += "draft"
			}
			if p.Paid {
				marks += "paid"
			}
			got = append(got, strings.Join([]string{p.Slug, p.Title, p.Summary, p.Author, day, marks, p.HTML}, "|"))
			return nil
		})
		if skipped > 0 {
			got = append(got, fmt.Sprint("skipped ", skipped))
		}
		if err != nil || e.Tool != tool || fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%s: %s %v\n got %q\nwant %q", tool, e.Tool, err, got, test.want)
		}
		if people := tool == "mailchimp"; e.HasPeople() != people || !e.HasPosts() {
			t.Errorf("%s: people %v, posts %v", tool, e.HasPeople(), e.HasPosts())
		}
	}
}

func FuzzPosts(f *testing.F) {
	for _, blog := range blogs {
		f.Add(pack(f, blog.files...))
	}
	f.Add(pack(f, "emails/a.md", "---\nsubject: 'A'\nslug: >-\n  a\n  b\n---\nText\n"))
	f.Add(pack(f, "emails.csv", "subject,publish_date,slug\nA,2024-05-01,a\n",
		"a.md", "<!-- buttondown-editor-mode: x -->A"))
	f.Add([]byte(`{"db":[{"data":{"posts":[{"html":"a","published_at":"x"}],"users":{}}}]}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		e, err := exports.Open(t.Context(), bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		_, err = e.Posts(t.Context(), now, func(p exports.Post) error {
			if p.Title == "" || strings.ContainsAny(p.Title+p.Summary+p.Author, "\x00\n") {
				t.Errorf("%+v", p)
			}
			return nil
		})
		if err != nil && !isInvalid(err) {
			t.Error(err)
		}
	})
}

// A page belongs to one post, in whichever table the post is. So an archive with many tables is read in time that grows
// with its size.
func TestTablesShareTheirPages(t *testing.T) {
	row := postColumns + "1.a,2024-05-01T10:00:00Z,true,,newsletter,everyone,A,\n"
	file := pack(t, "posts/1.a.html", "<p>A</p>", "posts.csv", row, "more/posts.csv", row)
	e, err := exports.Open(t.Context(), bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	skipped, err := e.Posts(t.Context(), now, func(exports.Post) error {
		n++
		return nil
	})
	if err != nil || n != 1 || skipped != 1 {
		t.Errorf("%d posts, %d skipped, %v", n, skipped, err)
	}
}

// Opening an archive ends with its context.
func TestOpeningEnds(t *testing.T) {
	file := pack(t, "people.csv", "email\nann@e.org\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := exports.Open(ctx, bytes.NewReader(file), int64(len(file))); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
