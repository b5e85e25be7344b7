package main

import (
	"context"
	"net/http"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/worker"
)

// poster returns the Poster for events to the send service, in this daemon or a remote one.
func (d *daemon) poster() (*worker.Poster, error) {
	hooks := &d.cfg.Webhooks
	p := worker.NewPoster(d.store, d.sendURL(), d.loopTransport(hooks.SendURL == ""))
	if hooks.SendClient == "" {
		return p, nil
	}
	key, err := auth.ParseSecret(hooks.SendSecret.Reveal())
	if err != nil {
		return nil, err
	}
	p.SignAs(hooks.SendClient, key)
	return p, nil
}

// disabler returns the options for the worker that blocks addresses at the member service, in this daemon or a remote
// one.
func (d *daemon) disabler() worker.DisablerOptions {
	o := worker.DisablerOptions{
		Store: d.store, Base: d.ownURL(), Transport: d.loopTransport(true), Log: d.log,
		Token: func(ctx context.Context, tenantID string, now core.Instant) (string, error) {
			return d.auth.OwnToken(ctx, tenantID, core.ScopeEventsWrite, now)
		},
	}
	send := &d.cfg.Send
	if send.MemberURL == "" {
		return o
	}
	o.Base, o.Transport, o.Token = send.MemberURL, nil, memberTokens(send)
	return o
}

// memberTimeout is the timeout for requesting a token from the member service.
const memberTimeout = 15 * time.Second

// memberTokens returns a function that requests access tokens from a remote member service and caches them until they
// expire.
func memberTokens(send *config.Send) func(context.Context, string, core.Instant) (string, error) {
	client := &http.Client{
		Timeout:       memberTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	config := clientcredentials.Config{
		ClientID: send.MemberClient, ClientSecret: send.MemberSecret.Reveal(),
		TokenURL: send.MemberURL + "/api/oauth/token",
		Scopes:   []string{core.ScopeEventsWrite}, AuthStyle: oauth2.AuthStyleInHeader,
	}
	source := config.TokenSource(context.WithValue(context.Background(), oauth2.HTTPClient, client))
	return func(context.Context, string, core.Instant) (string, error) {
		token, err := source.Token()
		if err != nil {
			return "", err
		}
		return token.AccessToken, nil
	}
}
