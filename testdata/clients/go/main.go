// Program clients makes calls with the packages that oapi-codegen makes of the OpenAPI documents. It ends with an error
// if a call fails or its response doesn't match its type.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"

	"clients/devices"
	"clients/member"
	"clients/send"
)

var calls int

func must[T any](v T, err error) T {
	if err != nil {
		fail(err)
	}
	return v
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// answered returns the body of the response that a call documents for its success, which is nil for any other.
func answered[T any](body *T, r interface {
	StatusCode() int
	GetBody() []byte
},
) T {
	calls++
	if body == nil {
		fail(fmt.Errorf("call %d: %d %s", calls, r.StatusCode(), r.GetBody()))
	}
	return *body
}

func equal[T comparable](got, want T) {
	if got != want {
		fail(fmt.Errorf("call %d: %v instead of %v", calls, got, want))
	}
}

func main() {
	ctx, origin := context.Background(), os.Getenv("ORIGIN")
	token := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+os.Getenv("TOKEN"))
		return nil
	}
	m := must(member.NewClientWithResponses(origin, member.WithRequestEditorFn(token)))
	s := must(send.NewClientWithResponses(origin, send.WithRequestEditorFn(token)))
	d := must(devices.NewClientWithResponses(origin, devices.WithRequestEditorFn(token)))

	tenantMade := must(m.CreateTenantWithResponse(ctx, member.CreateTenantRequest{Name: "Go"}))
	tenant := answered(tenantMade.JSON201, tenantMade)
	listMade := must(m.CreateNewsletterListWithResponse(ctx,
		member.CreateListRequest{TenantId: tenant.Id, Name: "News"}))
	list := answered(listMade.JSON201, listMade)
	listID := must(uuid.Parse(list.Id))
	subscribed := must(m.SubscribeWithResponse(ctx, member.SubscribeRequest{
		ListId: list.Id, Email: "grace@example.org", Preferences: &map[string]any{"first_name": "Grace"},
	}))
	asked := answered(subscribed.JSON200, subscribed)
	confirmed := must(m.ConfirmSubscriptionWithResponse(ctx, &member.ConfirmSubscriptionParams{Token: asked.ConfirmToken}))
	equal(answered(confirmed.JSON200, confirmed).Status, "active")
	listShown := must(m.GetNewsletterListWithResponse(ctx, listID))
	equal(answered(listShown.JSON200, listShown).Counts.Active, 1)

	later, text := time.Date(2199, 1, 1, 0, 0, 0, 0, time.UTC), "News."
	jobMade := must(s.CreateJobWithResponse(ctx, nil, send.CreateSendJobRequest{
		ListId: listID, Subject: "Hello", BodyText: &text, ScheduledAt: &later,
	}))
	jobID := must(uuid.Parse(answered(jobMade.JSON200, jobMade).SendJobId))
	jobShown := must(s.GetJobWithResponse(ctx, jobID))
	equal(answered(jobShown.JSON200, jobShown).Status, "pending")
	stats := must(s.GetJobStatsWithResponse(ctx, jobID))
	equal(answered(stats.JSON200, stats).Sent, 0)

	paired := must(d.PairDeviceWithResponse(ctx, devices.CreateDeviceRequest{Name: "Printer"}))
	equal(answered(paired.JSON201, paired).RegisteredAt == nil, true)
	one := 1
	library := must(d.ListLibraryWithResponse(ctx, &devices.ListLibraryParams{Limit: &one}))
	equal(len(answered(library.JSON200, library).Items), 0)

	domainAsked := must(m.ProposeSenderDomainWithResponse(ctx,
		member.NewSenderDomain{TenantId: &tenant.Id, Domain: "news.go.example"}))
	domain := answered(domainAsked.JSON201, domainAsked)
	equal(domain.Status, "proposed")
	uploaded := must(m.UploadImportWithBodyWithResponse(ctx, &member.UploadImportParams{ListId: listID}, "text/csv",
		strings.NewReader("email\nada@example.org\n")))
	importID := must(uuid.Parse(answered(uploaded.JSON201, uploaded).Id))
	dry := true
	started := must(m.RunImportWithResponse(ctx, importID, member.ImportInput{DryRun: &dry}))
	equal(answered(started.JSON202, started).DryRun, true)
	progress := must(m.GetImportWithResponse(ctx, importID))
	equal(answered(progress.JSON200, progress).Failed, 0)
	invited := must(m.CreateInvitationWithResponse(ctx,
		member.InvitationInput{TenantId: &tenant.Id, Email: "editor@example.org", Role: member.InvitationInputRoleEditor}))
	equal(answered(invited.JSON201, invited).Role, "editor")
	endpointMade := must(m.CreateWebhookEndpointWithResponse(ctx,
		member.NewEndpoint{TenantId: &tenant.Id, Url: "https://hooks.example.org/newsletter"}))
	equal(answered(endpointMade.JSON201, endpointMade).Secret != nil, true)

	fmt.Println(calls, "calls")
}
