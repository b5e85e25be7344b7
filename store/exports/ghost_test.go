package exports

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"newsletterd/mail/htmlclean"
)

// ghost returns a content export with the given tables and a post by the last user.
func ghost(tables string) opener {
	return func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(`{"db":[{"data":{` + tables +
			`,"posts":[{"id":"1","html":"A"}]}}]}`)), nil
	}
}

func TestGhostDepth(t *testing.T) {
	for depth, good := range map[int]bool{maxGhostDepth: true, maxGhostDepth + 1: false} {
		nested := `"x":` + strings.Repeat("[", depth) + strings.Repeat("]", depth)
		if err := ghostPosts(ghost(nested), func(Post) error { return nil }); good != (err == nil) {
			t.Errorf("%d: %v", depth, err)
		}
	}
}

func TestGhostKeepsFewAuthors(t *testing.T) {
	for name, test := range map[string]struct {
		users, posts int
		name, want   string
	}{
		"all":        {maxGhostUsers - 1, maxGhostAuthors - 1, "Ada", "Ada"},
		"users":      {maxGhostUsers, 0, "Ada", ""},
		"authors":    {0, maxGhostAuthors, "Ada", ""},
		"long names": {0, 0, strings.Repeat("a", 1000), strings.Repeat("a", 199) + "…"},
	} {
		var tables strings.Builder
		tables.WriteString(`"users":[`)
		for i := range test.users {
			fmt.Fprintf(&tables, `{"id":"u%d"},`, i)
		}
		tables.WriteString(`{"id":"9","name":"` + test.name + `"}],"posts_authors":[`)
		for i := range test.posts {
			fmt.Fprintf(&tables, `{"post_id":"p%d","author_id":"u"},`, i)
		}
		tables.WriteString(`{"post_id":"1","author_id":"9"}]`)
		author := ""
		err := ghostPosts(ghost(tables.String()), func(p Post) error {
			author = p.Author
			return nil
		})
		if err != nil || author != test.want {
			t.Errorf("%s: %.300q %v", name, author, err)
		}
	}
}

// Addresses of the Ghost site become relative. The feature image is shown above the post, with its description.
func TestGhostAddresses(t *testing.T) {
	open := ghost(`"posts":[{"id":"2","html":"<a href=\"__GHOST_URL__/x/\">X</a><a href=\"__GHOST_URL__\">Y</a>",` +
		`"feature_image":"__GHOST_URL__/content/y.png"}, {"id":"3","html":"","feature_image":"z.png"}],` +
		`"posts_meta":[{"post_id":"2","feature_image_alt":"A \"bed\""}]`)
	var pages []string
	err := ghostPosts(open, func(p Post) error {
		pages = append(pages, htmlclean.Body(p.HTML))
		return nil
	})
	want := []string{
		`<figure><img src="/content/y.png" alt="A &#34;bed&#34;"></figure>` +
			`<a href="/x/" rel="noreferrer">X</a><a href="/" rel="noreferrer">Y</a>`, "", "A",
	}
	if err != nil || !slices.Equal(pages, want) {
		t.Errorf("%q: %v", pages, err)
	}
}

// Parts of a public post that only members can see are left out.
func TestGhostAudiences(t *testing.T) {
	part := func(audience, text string) string {
		return "<!--kg-gated-block:begin " + audience + " -->" + text + "<!--kg-gated-block:end-->"
	}
	const unclosed = "<!--kg-gated-block:begin nonMember:false --> A"
	for page, want := range map[string]string{
		"A" + part(`nonMember:false memberSegment:"status:-free"`, "Paid\n<p>") + "B":           "AB",
		part(`nonMember:true memberSegment:""`, "A") + part("nonMember:false", "Members") + "B": "AB",
		part("", "Members") + "B":                                                "B",
		part("memberSegment:nonMember:true", "Members") + "B":                    "B",
		"<!-- kg-gated-block:begin nonMember:true-->A<!--kg-gated-block:end -->": "A",
		unclosed: unclosed,
	} {
		p := ghostPost{HTML: page}
		if got := p.page(""); got != want {
			t.Errorf("%q is %q", page, got)
		}
	}
	if p := (&ghostPost{HTML: part("nonMember:false", "Members"), Feature: "a.png"}); p.page("") != "" {
		t.Errorf("a post without a part for everyone is %q", p.page(""))
	}
}
