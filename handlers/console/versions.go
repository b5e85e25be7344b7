package console

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// versionRow is a version of a campaign.
type versionRow struct {
	Version int64        `json:"version"`
	Name    string       `json:"name"`
	Kept    bool         `json:"kept"`
	SavedBy string       `json:"saved_by"`
	SavedAt core.Instant `json:"saved_at"`
	Who     string       `json:"-"` // name of the person who saved it

	Subject string               `json:"subject"`
	Content core.CampaignContent `json:"content"`
}

// diffLine is a line in a comparison. Sign is "+" if only the second string has the line, "-" if only the first has it,
// and empty if both have it.
type diffLine struct{ Sign, Text string }

// versions lists the versions of a campaign and shows how one of them differs from the current one.
func (o *Console) versions(p *Page) (web.HTML, error) {
	c, err := p.campaign()
	if err != nil {
		return web.HTML{}, err
	}
	q := url.Values{"limit": {"30"}}
	if cursor := p.Query("cursor"); cursor != "" {
		q.Set("cursor", cursor)
	}
	d := struct {
		Campaign *campaignPage
		Versions []versionRow
		Chosen   *versionRow
		Diff     []diffLine
		Pager    pager
		MayWrite bool
	}{Campaign: c, MayWrite: p.May(core.ActionCampaignWrite) && written(c.State)}
	next, err := p.Get("/api/campaigns/"+c.ID+"/versions", q, &d.Versions)
	if err != nil {
		return web.HTML{}, err
	}
	if err := p.nameSavers(d.Versions); err != nil {
		return web.HTML{}, err
	}
	d.Pager = p.Pager(next)
	if n, err := strconv.ParseInt(p.Query("version"), 10, 64); err == nil {
		d.Chosen = new(versionRow)
		if _, err := p.Get("/api/campaigns/"+c.ID+"/versions/"+strconv.FormatInt(n, 10), nil, d.Chosen); err != nil {
			return web.HTML{}, err
		}
		d.Diff = diff(d.Chosen.Subject+"\n\n"+d.Chosen.Content.Source, c.Subject+"\n\n"+c.Content.Source)
	}
	return p.Show("versions", View{
		Title: p.T("Versions"), Within: []Link{
			{p.T("Campaigns"), p.Path("campaigns")},
			{c.Title(p), p.Path("campaigns", c.ID)},
		},
		State: p.T("A version is saved every 30 minutes and whenever another person edits"), Data: &d,
	})
}

// nameSavers adds the names of the people who saved the versions.
func (p *Page) nameSavers(rows []versionRow) error {
	team, err := p.teamOf(func(yield func(string) bool) {
		for i := range rows {
			if !yield(rows[i].SavedBy) {
				return
			}
		}
	})
	for i := range rows {
		rows[i].Who = p.madeBy(rows[i].SavedBy, team)
	}
	return err
}

// restore saves a version's content as a new version.
func (o *Console) restore(p *Page) (web.HTML, error) {
	n, err := strconv.ParseInt(p.Form["version"], 10, 64)
	if err != nil {
		return web.HTML{}, core.Invalidf("version", "Version not found. Reload the page.")
	}
	c, err := p.campaign()
	if err != nil {
		return web.HTML{}, err
	}
	if _, err := p.Ask(web.Question{
		Method: http.MethodPost, Path: "/api/campaigns/" + c.ID + "/versions/" + strconv.FormatInt(n, 10) + "/restore",
		Header: map[string]string{"If-Match": c.Revision},
	}); err != nil {
		return web.HTML{}, err
	}
	return p.Redirect(p.Path("campaigns", c.ID), "restored")
}

// act duplicates, archives or deletes a campaign.
func (o *Console) act(p *Page) (web.HTML, error) {
	c, err := p.campaign()
	if err != nil {
		return web.HTML{}, err
	}
	item := "/api/campaigns/" + c.ID
	match := map[string]string{"If-Match": c.Revision}
	switch p.Form["act"] {
	case "duplicate":
		made, err := p.duplicate(c.ID, "", p.T("copy"))
		if err != nil {
			return web.HTML{}, err
		}
		return p.Redirect(p.Path("campaigns", made.ID), "duplicated")
	case "archive":
		if _, err := p.Ask(web.Question{Method: http.MethodPost, Path: item + "/archive", Header: match}); err != nil {
			return web.HTML{}, err
		}
		return p.Redirect(p.Path("campaigns"), "put-away")
	case "delete":
		if _, err := p.Ask(web.Question{Method: http.MethodDelete, Path: item, Header: match}); err != nil {
			return web.HTML{}, err
		}
		return p.Redirect(p.Path("campaigns"), "deleted")
	}
	return web.HTML{}, core.Invalidf("act", "Unknown action. Reload the page and try again.")
}

// maxDiff is the maximum number of lines in strings that are compared. The time that this takes is proportional to the
// product of both line counts.
const maxDiff = 2000

// diff compares two strings line by line.
func diff(before, after string) (out []diffLine) {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	if len(a) > maxDiff || len(b) > maxDiff {
		for _, line := range a {
			out = append(out, diffLine{"-", line})
		}
		for _, line := range b {
			out = append(out, diffLine{"+", line})
		}
		return out
	}
	// common[i][j] is the length of the longest common subsequence of a[i:] and b[j:].
	common := make([][]int16, len(a)+1)
	for i := range common {
		common[i] = make([]int16, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, diffLine{"", a[i]})
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common[i+1][j] >= common[i][j+1]):
			out = append(out, diffLine{"-", a[i]})
			i++
		default:
			out = append(out, diffLine{"+", b[j]})
			j++
		}
	}
	return out
}

// cut puts text on a single line and truncates it to the given number of characters.
func cut(text string, most int) string {
	line := []rune(strings.Join(strings.Fields(text), " "))
	if len(line) <= most {
		return string(line)
	}
	return strings.TrimSpace(string(line[:most])) + "…"
}
