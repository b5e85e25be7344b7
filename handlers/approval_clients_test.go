package handlers

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
)

// tokenAt returns a token of ann at a client. An empty client means the server's own.
func (e *reviewEnv) tokenAt(client string) string {
	e.Helper()
	form := url.Values{
		"grant_type": {"password"}, "username": {"ann@user.example"}, "password": {annsPassword},
		"scope": {core.ScopeSend},
	}
	if client != "" {
		form.Set("client_id", client)
	}
	res := e.ask("POST", "/api/auth/login", form)
	var got struct {
		AccessToken string `json:"access_token"`
	}
	b, err := io.ReadAll(res.Body)
	e.must(err)
	if json.Unmarshal(b, &got) != nil || got.AccessToken == "" {
		e.Fatalf("%d: %s", res.StatusCode, b)
	}
	return got.AccessToken
}

// api sends a request with a token to the API.
func (e *reviewEnv) api(token, method, path, body string, header ...string) *http.Response {
	e.Helper()
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	e.handler.ServeHTTP(w, req)
	return w.Result()
}

// clientOf adds a client, created by an actor, at which ann can get tokens.
func (e *reviewEnv) clientOf(actor string) string {
	e.Helper()
	c, _, err := core.NewClient(core.ClientInput{
		Name: new("Planner"), TenantID: &e.tenant.ID, Scopes: &[]string{core.ScopeSend}, GrantTypes: &[]string{"password"},
	}, true, e.seed.Time())
	e.must(err)
	e.must(e.store.AddClient(e.Context(), c, actor))
	return c.ID
}

// The keeper of a client can't approve with a token that another person has given the client, and doesn't count as the
// second person for what the client has written with it.
func TestAClientApprovesNothingOfItsKeepers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newReviewEnv(t)
		bobs, others := e.clientOf(core.UserActor(e.bob.ID)), e.clientOf("user:carl")
		path := "/api/campaigns/" + e.campaign.ID
		approve := func(client string) (status int, may bool) {
			t.Helper()
			token := e.tokenAt(client)
			res := e.api(token, "GET", path, "")
			var got struct {
				Version     int64                    `json:"version"`
				Permissions core.CampaignPermissions `json:"permissions"`
			}
			e.must(json.NewDecoder(res.Body).Decode(&got))
			body, err := json.Marshal(map[string]int64{"version": got.Version})
			e.must(err)
			res = e.api(token, "POST", path+"/approve", string(body), "If-Match", res.Header.Get("ETag"))
			return res.StatusCode, got.Permissions.Approve
		}
		if status, may := approve(bobs); status != http.StatusForbidden || may {
			t.Errorf("bob's client: %d, says %t", status, may)
		}
		if status, may := approve(others); status != http.StatusOK || !may {
			t.Errorf("someone else's client: %d, says %t", status, may)
		}
		e.edit(core.UserActor(e.bob.ID))
		if status, may := approve(""); status != http.StatusOK || !may {
			t.Errorf("no client: %d, says %t", status, may)
		}

		// Bob's client writes with ann's token.
		write := func(client string) bool {
			t.Helper()
			e.campaign = e.seed.NewCampaign(core.List{ID: e.seed.ListID, TenantID: e.tenant.ID})
			res := e.api(e.tokenAt(client), "PATCH", "/api/campaigns/"+e.campaign.ID, `{"subject": "Buy"}`, "If-Match", "*")
			if res.StatusCode != http.StatusOK {
				b, _ := io.ReadAll(res.Body)
				t.Fatalf("%d: %s", res.StatusCode, b)
			}
			now, err := e.store.Campaign(t.Context(), e.campaign.ID)
			e.must(err)
			a, err := e.store.Approvers(t.Context(), &now, "", e.seed.Time())
			e.must(err)
			return a.People == 1
		}
		if write(bobs) {
			t.Error("bob approves what his client wrote as ann")
		}
		if !write(others) || !write("") {
			t.Error("bob can't approve what ann wrote")
		}
	})
}
