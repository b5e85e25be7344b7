package workertest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/store/members"
)

// These are the member service's paths for an unsubscribe through an email from the send service.
const (
	unsubscribeTokenPath = "/api/newsletter/unsubscribe-token"
	unsubscribePath      = "/api/newsletter/unsubscribe"
)

// weathers are the states of the link, see World.SetWeather.
var weathers = []string{
	"fair", "fair", "cut", "answer lost", "every other answer lost", "400", "401", "422", "500",
	"503", "killed",
}

// link carries requests from one side to the other, or loses them.
type link struct {
	mu      sync.Mutex
	w       *World
	weather string
	posts   int
	bodies  [][]byte // accepted bodies
	token   string   // token for the response
	corpse  string   // copy of the database of a daemon killed between the receiver's commit and the response
}

func (l *link) RoundTrip(req *http.Request) (*http.Response, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	l.posts++
	if status, err := strconv.Atoi(l.weather); err == nil {
		return coretest.Response(status, "{}"), nil
	}
	if l.weather == "cut" || l.corpse != "" {
		return nil, errors.New("cut")
	}
	status := l.accept(req.URL.Path, body)
	switch {
	case l.weather == "killed":
		l.corpse = filepath.Join(l.w.dir, "corpse"+strconv.Itoa(l.posts))
		if err := copyDatabase(l.w.Member.Path(), l.corpse); err != nil {
			return nil, err
		}
		return nil, errors.New("cut")
	case l.weather == "answer lost", l.weather == "every other answer lost" && l.posts%2 == 0:
		return nil, errors.New("cut")
	}
	res := coretest.Response(status, "{}")
	if l.token != "" {
		res.Body = io.NopCloser(strings.NewReader(`{"unsubscribe_token": "` + l.token + `"}`))
	}
	l.token = ""
	return res, nil
}

// accept is the receiving side of the link. It also updates the model.
func (l *link) accept(path string, body []byte) (status int) {
	w := l.w
	switch path {
	case unsubscribeTokenPath:
		l.token = base64.RawURLEncoding.EncodeToString(body)
		return http.StatusOK
	case unsubscribePath:
		if err := w.leftThere(body, core.At(time.Now())); err != nil {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	}
	status, err := Services{Member: w.Member, Send: w.Send}.Accept(w.ctx(), path, body)
	switch {
	case path == EventPath && err == nil:
		l.bodies = append(l.bodies, body)
	case path == DisablePath:
		var d struct {
			Email core.Email `json:"email"`
		}
		w.must(json.Unmarshal(body, &d))
		w.disabledNow(slices.IndexFunc(w.emails, func(e core.Email) bool { return e.Key() == d.Email.Key() }), "")
	}
	return status
}

// leftThere is the member service's unsubscribe operation. The token is the body of the token request.
func (w *World) leftThere(body []byte, now core.Instant) error {
	var in struct {
		Token string `json:"token"`
	}
	var asked struct {
		ListID string     `json:"list_id"`
		Email  core.Email `json:"email"`
	}
	err := json.Unmarshal(body, &in)
	if err == nil {
		var text []byte
		if text, err = base64.RawURLEncoding.DecodeString(in.Token); err == nil {
			err = json.Unmarshal(text, &asked)
		}
	}
	if err != nil {
		return err
	}
	_, err = w.Member.Unsubscribe(w.ctx(), members.UnsubscribeRequest{
		ListID: asked.ListID, SubscriptionID: w.Member.SubscriptionID(asked.ListID, asked.Email.Key()), Email: asked.Email,
		Proof: core.ProofResponse,
	}, now)
	if errors.Is(err, core.ErrNotFound) {
		return nil // the response is the same
	}
	for _, p := range w.people {
		if err == nil && w.Lists[p.list].ID == asked.ListID && w.emails[p.email].Key() == asked.Email.Key() {
			w.left(p)
		}
	}
	return err
}
