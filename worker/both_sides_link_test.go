package worker

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
	"newsletterd/store"
)

// The weather of the link.
var weathers = []string{
	"fair", "fair", "cut", "answer lost", "every other answer lost", "400", "401", "422", "500",
	"503", "killed",
}

// link carries posts from one side to the other, or does not.
type link struct {
	mu      sync.Mutex
	w       *world
	weather string
	posts   int
	bodies  [][]byte // that were accepted
	token   string   // to answer with
	corpse  string   // copy of the database of the daemon that was killed between the receiver's commit and the answer
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
		if err := copyDatabase(l.w.a.Path(), l.corpse); err != nil {
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

// accept is the receiving side, as its handlers are.
func (l *link) accept(path string, body []byte) (status int) {
	w, now := l.w, core.At(time.Now())
	nonce := store.Nonce{ClientID: core.LoopClientID, Nonce: core.NewID()}
	var err error
	switch path {
	case eventPath:
		var e core.Event
		if err = json.Unmarshal(body, &e); err == nil {
			err = e.Validate()
		}
		if err == nil {
			err = w.b.ApplyEvent(w.ctx(), nonce, e, now)
		}
		if err == nil {
			l.bodies = append(l.bodies, body)
		}
	case syncPath:
		var f core.FullSync
		if err = json.Unmarshal(body, &f); err == nil {
			err = f.Validate()
		}
		if err == nil {
			err = w.b.ApplyBatch(w.ctx(), nonce, f, now)
		}
	case disablePath:
		var d struct {
			Email core.Email `json:"email"`
		}
		if err = json.Unmarshal(body, &d); err == nil {
			_, err = w.a.Disable(w.ctx(), store.DisableRequest{
				Email: d.Email, Reason: "complaint", DisabledBy: "send",
				OccurredAt: now,
			}, now)
			w.disabledNow(slices.IndexFunc(w.emails, func(e core.Email) bool { return e.Key() == d.Email.Key() }), "")
		}
	case unsubscribeTokenPath:
		l.token = base64.RawURLEncoding.EncodeToString(body)
	case unsubscribePath:
		err = w.leftThere(body, now)
	}
	switch core.KindOf(err) {
	case core.Conflict:
		return http.StatusConflict
	case core.Invalid:
		return http.StatusUnprocessableEntity
	}
	if err != nil {
		return http.StatusInternalServerError
	}
	return http.StatusOK
}

// leftThere is the member service's operation, to which the token is the request for it.
func (w *world) leftThere(body []byte, now core.Instant) error {
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
	_, err = w.a.Unsubscribe(w.ctx(), store.UnsubscribeRequest{
		ListID: asked.ListID, SubscriptionID: w.a.SubscriptionID(asked.ListID, asked.Email.Key()), Email: asked.Email,
		Proof: core.ProofResponse,
	}, now)
	if errors.Is(err, core.ErrNotFound) {
		return nil // the answer is the same
	}
	for _, p := range w.people {
		if err == nil && w.lists[p.list].ID == asked.ListID && w.emails[p.email].Key() == asked.Email.Key() {
			w.left(p)
		}
	}
	return err
}
