package campaigns

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
	"newsletterd/mail"
	"newsletterd/store/people"
)

// voteRoutes adds the pages where subscribers answer polls.
func (r *Room) voteRoutes(t *web.Table) {
	seen := tracked{r}
	t.Add("GET", mail.PollPath+":token", web.Public(), web.Page,
		web.Query(seen.askVote).Fails(core.Invalid, core.NotFound), "Show a poll with an answer selected").
		Named("showPoll")
	t.Add("POST", mail.PollPath+":token", web.Public(), web.Page,
		web.Form(seen.vote).NeedsRoom(web.MaxWrite).PerAddress(votesPerAddress, time.Hour).
			Fails(core.Forbidden, core.NotFound, core.Conflict), "Answer a poll").
		Named("answerPoll")
}

// votesPerAddress is the maximum number of answers per hour from one address. Everyone in an office may share one
// address.
const votesPerAddress = 3000

// pollData holds the data for handlers/page/pages/poll.html.
type pollData struct {
	Action  string // URL for the form; empty: the poll takes no answer
	As      string // masked address of the subscriber who answers
	Options []pollChoice
	Given   string // the answer that was just stored; empty: none
	Closed  bool
	Done    bool // an answer was stored
	Again   string
	Results []pollShare
	Answers string // number of people who answered, in words; empty: not shown
}

type pollChoice struct {
	Number  int
	Text    string
	Checked bool
}

// pollShare is one option's share of the answers.
type pollShare struct {
	Text       string
	Count, All int64
	Said       string
}

// ballot opens a poll token. It returns the poll as shown to the email's recipient, and the option in the link.
func (a tracked) ballot(c *web.Call, token string) (v people.Voting, option int, err error) {
	job, seq, answer, ok := a.Ident.ParsePoll(token)
	if !ok {
		return v, 0, page.LinkError(c, core.ErrInvalidToken)
	}
	b := people.Ballot{JobNo: job, Seq: seq, Poll: answer.Poll}
	if v, err = a.Store.Voting(c, b, c.Now); err != nil {
		return v, 0, page.LinkError(c, err)
	}
	page.ApplyList(c, &v.List, v.Email)
	if answer.Option > len(v.Options) {
		return v, 0, page.LinkError(c, core.ErrInvalidToken)
	}
	return v, answer.Option, nil
}

// askVote shows a poll. It stores no answer, because scanners follow the links in emails.
func (a tracked) askVote(c *web.Call, in mailedToken) (web.HTML, error) {
	if in.Token == mail.PollPreview {
		w := page.WordsOf(c)
		return page.RenderMessage(c, 0, w.PollPreviewTitle, page.Note{Lines: []string{w.PollPreviewText}}, page.Brand{})
	}
	v, option, err := a.ballot(c, in.Token)
	if err != nil {
		return web.HTML{}, err
	}
	return showPoll(c, &v, in.Token, option, "", 0)
}

type voteForm struct {
	Token  string `path:"token,text"`
	Option string `form:"option" about:"Number of the answer"`
}

func (a tracked) vote(c *web.Call, in voteForm) (web.HTML, error) {
	if err := c.CrossSite(); err != nil {
		return web.HTML{}, err
	}
	v, chosen, err := a.ballot(c, in.Token)
	if err != nil {
		return web.HTML{}, err
	}
	option, err := strconv.Atoi(in.Option)
	if err != nil || option < 1 || option > len(v.Options) {
		return showPoll(c, &v, in.Token, chosen, page.WordsOf(c).PollChoose, http.StatusBadRequest)
	}
	err = a.Store.Vote(c, &v, option, c.Now)
	closed := errors.Is(err, core.ErrPollClosed) || errors.Is(err, people.ErrVoterLeft)
	switch {
	case closed:
	case errors.Is(err, core.ErrAnswerFixed):
		return showPoll(c, &v, in.Token, option, page.WordsOf(c).PollFixed, web.StatusOf(web.Page, core.TooMany))
	case err != nil:
		return web.HTML{}, page.LinkError(c, err)
	}
	if closed {
		return showPoll(c, &v, in.Token, option, "", http.StatusConflict)
	}
	return showPoll(c, &v, in.Token, 0, "", 0)
}

// showPoll shows a poll with an option selected. If option is 0, it shows the answer that was just stored, and the
// results. Otherwise it shows neither, because the link may have been forwarded.
func showPoll(c *web.Call, v *people.Voting, token string, option int, fault string, status int) (web.HTML, error) {
	w := page.WordsOf(c)
	d := pollData{
		As: strings.Replace(w.PollAs, "{{who}}", strings.Replace(v.Email.Mask(), "***", "…", 1), 1), Closed: !v.Open,
	}
	view := page.View{Title: v.Question, Fault: fault}
	switch {
	case v.Left:
		view.Fault = page.StyleOf(c).Expand(w.PollLeft)
	case d.Closed:
		view.Notice = w.PollClosed
	case option == 0:
		d.Done, d.Again, view.Notice = true, mail.PollPath+token, w.PollDone
		d.Given = strings.Replace(w.PollGiven, "{{answer}}", v.Options[v.Option-1].Text, 1)
	default:
		d.Action = mail.PollPath + token
		for i := range v.Options {
			d.Options = append(d.Options, pollChoice{i + 1, v.Options[i].Text, i+1 == option})
		}
	}
	if v.ShowResults && d.Done {
		d.Answers = strings.Replace(w.PollAnswers, "{{n}}", strconv.FormatInt(v.Answers, 10), 1)
		for _, o := range v.Options {
			if o.Answers != nil {
				said := strings.NewReplacer("{{n}}", strconv.FormatInt(*o.Answers, 10), "{{all}}",
					strconv.FormatInt(v.Answers, 10)).Replace(w.PollShare)
				d.Results = append(d.Results, pollShare{o.Text, *o.Answers, v.Answers, said})
			}
		}
	}
	view.Data = d
	return page.Render(c, status, "poll", view)
}
