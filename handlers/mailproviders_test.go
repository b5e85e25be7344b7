package handlers

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/mail/report"
	"newsletterd/store/campaigns"
	"newsletterd/store/tenants"
)

func init() {
	// provider NAME kind=KIND tenant=TENANT disabled: a mail provider whose secret is its name.
	steps["provider"] = func(e *env, name string, args map[string]string) {
		p := core.Provider{Name: name, Kind: argOr(args, "kind", report.KindGeneric), TenantID: e.value(args["tenant"])}
		if _, off := args["disabled"]; off {
			p.DisabledAt = 1
		}
		e.must(e.store.AddProvider(e.t.Context(), p, argOr(args, "secret", providerSecret(name)), "command",
			core.At(time.Now())))
	}
	// subscriber NAME list=LIST: an active subscriber, as an event would create one.
	steps["subscriber"] = func(e *env, name string, args map[string]string) {
		list, err := e.store.List(e.t.Context(), e.value(args["list"]))
		e.must(err)
		e.must(e.store.ApplyEvent(e.t.Context(), tenants.Nonce{ClientID: "test", Nonce: core.NewID()}, core.Event{
			ID: core.NewID(), Type: core.EventActivated, TenantID: list.TenantID, ListID: list.ID, OccurredAt: 1,
			Subscriber: core.EventSubscriber{ID: core.NewID(), Email: core.Email(args["email"]), Status: "active"},
		}, core.At(time.Now())))
	}
	// job NAME list=LIST: a running job that was sent to everyone on the list (begun: to no one yet). {NAME} is its id,
	// {NAME.anna} the Message-ID of the email to anna@….
	steps["job"] = func(e *env, name string, args map[string]string) {
		ctx, now := e.t.Context(), core.At(time.Now())
		list, err := e.store.List(ctx, e.value(args["list"]))
		e.must(err)
		j, _, err := e.store.AddSendJob(ctx, campaigns.JobRequest{
			NewJob: core.NewJob{ListID: list.ID, TenantID: list.TenantID, Subject: "News", BodyText: "News"},
			Caller: core.CommandCaller("u"), CreatedBy: "test",
		}, now)
		e.must(err)
		e.name(name, j.ID)
		_, err = e.store.StartDueJobs(ctx, now.Add(time.Second))
		e.must(err)
		if _, begun := args["begun"]; begun {
			return
		}
		for more := true; more; {
			more, err = e.store.ExpandJob(ctx, j.No, now)
			e.must(err)
		}
		j, err = e.store.SendJob(ctx, j.ID)
		e.must(err)
		var sent []core.Outcome
		rows, err := e.store.Recipients(ctx, &j, campaigns.RecipientFilter{}, core.Page{Limit: 100})
		e.must(err)
		for _, r := range rows {
			sent = append(sent, core.Outcome{
				JobNo: j.No, TenantID: j.TenantID, Seq: r.Seq, State: core.RecipientSent,
				Tried: true,
			})
			local, _, _ := strings.Cut(strings.ToLower(r.Email), "@")
			e.name(name+"."+local, "<"+e.handler.ident.Message(j.No, r.Seq)+"@mail.example>")
		}
		e.must(e.store.FinishRecipients(ctx, sent, now))
	}
}

func providerSecret(name string) string {
	return "whsec_" + base64.StdEncoding.EncodeToString(senderKey(name))
}

// signProvider sets the header of the generic kind: "Reported-By: NAME", followed by the intended error: old or forged.
func (e *env) signProvider(req *http.Request, body string, words []string) {
	key, at := senderKey(words[0]), time.Now()
	for _, w := range words[1:] {
		switch w {
		case "old":
			at = at.Add(-301 * time.Second)
		case "forged":
			key = senderKey("forged")
		}
	}
	t := strconv.FormatInt(at.Unix(), 10)
	m := hmac.New(sha256.New, key)
	m.Write([]byte(t + "." + body))
	req.Header.Set(report.HeaderSignature, "t="+t+",v1="+hex.EncodeToString(m.Sum(nil)))
}
