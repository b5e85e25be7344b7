package handlers

import (
	"strings"
	"testing"
)

// Unknown keys of devices, agents, models and shares are refused with a suggestion. Responses can be sent back
// unchanged.
func TestUnknownKeysOfDevicesAndModels(t *testing.T) {
	e := newEnv(t)
	for _, step := range []string{"person ann", "person bob", "device lamp owner=ann", "agent hub owner=ann", "model vase owner=ann", "share given model=vase email=x@friend.example"} {
		e.step(step)
	}
	model := "/api/models/" + e.value("vase")
	for _, tt := range []struct {
		method, path, body string
		status             int
		said               string
	}{
		{"POST", "/api/devices", `{"name": "a", "agentId": "x"}`, 400, "Did you mean agent_id?"},
		{"POST", "/api/devices", `{"name": "a", "colour": "red"}`, 400, "Unknown field colour. Remove it."},
		{"POST", "/api/devices", `{"name": "a", "colour": null}`, 201, ""},
		{"PATCH", "/api/devices/" + e.value("lamp"), `{"nmae": "b"}`, 400, "Unknown field nmae. Remove it."},
		{
			"PATCH", "/api/devices/" + e.value("lamp"),
			`{"id": "x", "name": "b", "registered": true, "created_at": "2026-11-28T00:00:00.000Z"}`, 200, `"name":"b"`,
		},
		{"POST", "/api/agents", `{"name": "a", "versoin": "1"}`, 400, "Did you mean version?"},
		{"PATCH", "/api/agents/" + e.value("hub"), `{"os": "x"}`, 400, "Unknown field os. Remove it."},
		{"PATCH", model, `{"descripton": "b"}`, 400, "Did you mean description?"},
		{"PATCH", model, `{"visibility": "public"}`, 400, "visibility"},
		{"PATCH", model, `{"name": "c", "size": 5, "sha256": "x"}`, 200, `"name":"c"`},
		{"PATCH", model + "/visibility", `{"visibility": "public", "tenant": "x"}`, 400, "Unknown field tenant. Remove it."},
		{"POST", model + "/shares", `{"email": "y@friend.example", "permision": "read"}`, 400, "Did you mean permission?"},
		{"GET", "/api/models?access=public", "", 400, "access is not supported here"},
		{"GET", "/api/models?access=", "", 400, "access is not supported here"},
		{"GET", "/api/models?q=x", "", 400, "q is not supported here"},
		{"GET", "/api/models/library?access=", "", 400, "access must be one of shared, public"},
		{"GET", "/api/models/library?access=private", "", 400, "access must be one of shared, public"},
		{"GET", "/api/models/library?access=public&owner=me", "", 400, "access and owner can't both be set"},
		{"GET", "/api/models/library?owner=", "", 400, "owner must be one of me"},
		{"GET", "/api/models/library?access=public", "", 200, ""},
	} {
		res, b := e.ask(tt.method, tt.path, "ann", strings.NewReader(tt.body), "Content-Type", "application/json")
		if res.StatusCode != tt.status || !strings.Contains(string(b), tt.said) {
			t.Errorf("%s %s %s: %d %s", tt.method, tt.path, tt.body, res.StatusCode, b)
		}
	}
	const part = "--b\r\nContent-Disposition: form-data; name=\"%\"\r\n\r\nx\r\n"
	file := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.stl\"\r\n\r\nx\r\n--b--\r\n"
	for name, want := range map[string]int{"description": 201, "button": 201, "descripton": 400, "visiblity": 400, "contentType": 400} {
		res, b := e.ask("POST", "/api/models?name="+name, "ann", strings.NewReader(strings.Replace(part, "%", name, 1)+file),
			"Content-Type", "multipart/form-data; boundary=b")
		if res.StatusCode != want {
			t.Errorf("part %s: %d %s", name, res.StatusCode, b)
		}
	}
}
