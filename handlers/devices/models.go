package devices

import (
	"strconv"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
	"newsletterd/store/devices"
)

// models serves /api/models. A model that the caller may not view is reported as missing.
type models struct{ store *store.Store }

// ModelProfile is a model as shown to everyone who may see it. It contains its owner's name, but never the email
// address.
type ModelProfile struct {
	core.Model
	Owner modelOwner `json:"owner" about:"Owner of the model, without the email address"`
}

type modelOwner struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// modelRoutes adds the routes for users' models.
func (r *Room) modelRoutes(t *web.Table) {
	m := models{r.Store}
	const item = "/api/models/:id"
	t.Add("GET", "/api/models", web.User(core.ScopeModelsRead), web.Device,
		web.List(m.list, modelKey), "List the caller's own models").Named("listModels")
	t.Add("POST", "/api/models", web.User(core.ScopeModelsWrite), web.Device,
		web.Stream(r.upload).DescribesMedia("application/octet-stream", "*/*").NeedsRoom(web.MaxWrite).Created().
			Fails(core.Forbidden, core.Conflict, core.TooLarge, core.TooMany),
		"Upload a model, as the body or as the part file of multipart/form-data").Named("uploadModel").
		Refuses(
			web.NotAFile,
			web.Refused("name", "Empty, too long, or contains control characters"),
			web.Refused("description", "Too long, or contains control characters"),
			web.Coded("invalid_visibility", "visibility", "Must be private, tenant or public"),
			web.Clash("The owner has reached the limit for models"),
			web.Refused("file", "Missing or repeated"),
			web.Clashing("upload_under_way", "", "The upload is already running"),
			web.Clashing("upload_offset", "Upload-Offset", "Doesn't match the bytes stored so far"),
			web.Refused("Upload-Offset", "Upload-Key is missing"),
			web.Refused("", "The file is longer than declared, or the rest arrived too late"),
		)
	t.Add("GET", "/api/models/upload", web.User(core.ScopeModelsRead), web.Device,
		web.Query(r.uploadState), "Show how much of an interrupted upload is stored").Named("getModelUpload")
	t.Add("GET", "/api/models/library", web.User(core.ScopeModelsRead), web.Device,
		web.Query(m.library), "List the models the caller can view, newest first").Named("listLibrary").
		Refuses(
			web.Coded("invalid_cursor", "cursor", "The cursor belongs to another list, filter or caller"),
			web.Refused("access", "Only for other people's models; can't be combined with owner"),
		)
	t.Add("PATCH", item, web.User(core.ScopeModelsWrite), web.Device,
		web.JSON(m.update).Find(m.owned), "Update a model's details; fields you leave out stay unchanged").
		Named("updateModel").
		Example(web.Object{"description": "Holds a shelf of up to 5 kg."})
	t.Add("DELETE", item, web.User(core.ScopeModelsWrite), web.Device, web.Path(m.remove), "Delete a model").
		Named("deleteModel")
	t.Add("GET", item+"/profile", web.User(core.ScopeModelsRead), web.Device, web.Path(m.profile), "Show a model").
		Named("getModelProfile")
	t.Add("GET", item+"/download", web.User(core.ScopeModelsRead), web.Device,
		web.Serve(m.download).Answers("application/octet-stream", "*/*"),
		"Download the file of a model").Named("downloadModel")
	t.Add("PATCH", item+"/visibility", web.User(core.ScopeModelsWrite), web.Device,
		web.JSON(m.setVisibility).Find(m.owned), "Update a model's visibility").Named("setModelVisibility").
		Example(web.Object{"visibility": "public"})
}

// shareRoutes adds the routes for sharing models with other users.
func (r *Room) shareRoutes(t *web.Table) {
	m := models{r.Store}
	s := shares{m}
	const sharing, share = "/api/models/:id/shares", "/api/models/:id/shares/:share_id"
	t.Add("GET", sharing, web.User(core.ScopeModelsRead), web.Device,
		web.List(s.list, func(s core.Share) string { return s.ID }).Find(m.owned), "List the shares of a model").
		Named("listModelShares")
	t.Add("POST", sharing, web.User(core.ScopeModelsWrite), web.Device,
		web.JSON(s.create).NeedsRoom(web.MaxWrite).Created().Find(m.owned).Fails(core.Conflict), "Share a model").
		Named("createModelShare").
		Limits(web.Never(
			web.Where(web.Object{"email": web.Filled, "user_id": web.Filled}),
			web.Never(web.Where(web.Object{"email": web.Filled}), web.Where(web.Object{"user_id": web.Filled})),
		)).
		Example(web.Object{"email": "friend@example.org", "permission": "read"}).
		Refuses(web.ThereIsOne, web.Refused("", "The owner already has access"), web.BadEmail)
	t.Add("GET", share, web.User(core.ScopeModelsRead), web.Device, web.Query(s.show).Find(s.find), "Show a share").
		Named("getModelShare")
	t.Add("PUT", share, web.User(core.ScopeModelsWrite), web.Device, web.JSON(s.update).Find(s.find), "Update a share").
		Named("updateModelShare").
		Example(web.Object{"permission": "read"}).
		Refuses(web.Refused("user_id", "This field can't be changed"),
			web.Refused("email", "This field can't be changed"))
	t.Add("DELETE", share, web.User(core.ScopeModelsWrite), web.Device, web.Query(s.remove).Find(s.find), "Stop "+
		"sharing a model").
		Named("deleteModelShare")
}

func modelProfileOf(m *core.ModelView) ModelProfile {
	return ModelProfile{m.Model, modelOwner{m.OwnerID, m.OwnerName}}
}

// owned returns the 404 or 403 error if the caller is not the owner of the model.
func (a models) owned(c *web.Call) error {
	m, err := a.store.Model(c, c.Caller, c.ID())
	if err != nil {
		return err
	}
	return m.CanEdit(c.Caller, m.Shared)
}

func (a models) list(c *web.Call, _ struct{}, page core.Page) ([]core.Model, error) {
	for _, name := range []string{"access", "owner", "q"} {
		if c.Request.URL.Query().Has(name) {
			return nil, core.Invalidf(name,
				"%s is not supported here, because this endpoint lists only your own models. Use /api/models/library.",
				name)
		}
	}
	after, _ := strconv.ParseInt(page.After, 10, 64) // empty: from the start
	return a.store.Models(c, c.Caller.UserID, after, page.Limit)
}

func modelKey(m core.Model) string { return strconv.FormatInt(m.No, 10) }

type libraryQuery struct {
	Limit  *int   `query:"limit" min:"1" max:"100"`
	Cursor string `query:"cursor"`
	Q      string `query:"q" max:"200" about:"Words in the name or description"`
	Owner  string `query:"owner" enum:"me" about:"me: only your own models; can't be combined with access"`
	Access string `query:"access" enum:"shared|public" about:"Only models shared with you, or public ones; can't be combined with owner"`
}

const (
	libraryLimit    = 20
	maxLibraryLimit = 100
)

func (q *libraryQuery) CheckInput() error {
	if q.Limit != nil && (*q.Limit < 1 || *q.Limit > maxLibraryLimit) {
		return core.Invalidf("limit", "limit must be from 1 to %d.", maxLibraryLimit)
	}
	if q.Owner != "" && q.Access != "" {
		return core.Invalidf("access", "access and owner can't both be set. Leave one of them out.")
	}
	return web.CheckQuery(q.Q)
}

// LibraryReply is a page of the library, newest first. NextCursor is nil on the last page.
type LibraryReply struct {
	Items      []ModelProfile `json:"items" about:"Models, newest first"`
	NextCursor *string        `json:"next_cursor" about:"Cursor of the next page; null: this is the last one"`
}

func (a models) library(c *web.Call, in libraryQuery) (LibraryReply, error) {
	for _, one := range [...]struct{ name, words string }{{"access", "shared, public"}, {"owner", "me"}} {
		if q := c.Request.URL.Query(); q.Has(one.name) && q.Get(one.name) == "" {
			return LibraryReply{}, core.Invalidf(one.name, "%s must be one of %s.", one.name, one.words)
		}
	}
	p := devices.LibraryPage{Limit: libraryLimit, Own: in.Owner != "", Access: in.Access, Query: in.Q}
	if in.Limit != nil {
		p.Limit = *in.Limit
	}
	reply := LibraryReply{Items: []ModelProfile{}}
	if in.Cursor != "" {
		after, err := c.OpenCursor(in.Cursor)
		if err != nil {
			return reply, err
		}
		if p.Before, err = strconv.ParseInt(after, 10, 64); err != nil {
			return reply, core.ErrInvalidCursor
		}
	}
	p.Limit++ // one more row, to find out whether there is a next page
	ms, err := a.store.Library(c, c.Caller, p)
	if err != nil {
		return reply, err
	}
	if len(ms) == p.Limit {
		ms = ms[:p.Limit-1]
		next := c.SealCursor(strconv.FormatInt(ms[len(ms)-1].No, 10))
		reply.NextCursor = &next
	}
	for i := range ms {
		reply.Items = append(reply.Items, modelProfileOf(&ms[i]))
	}
	return reply, nil
}

func (a models) profile(c *web.Call, id string) (ModelProfile, error) {
	m, err := a.store.Model(c, c.Caller, id)
	return modelProfileOf(&m), err
}

func (a models) update(c *web.Call, in core.ModelChange) (core.Model, error) {
	return a.store.UpdateModel(c, c.ID(), c.Caller.UserID, web.Actor(c),
		func(m *core.Model) error { return m.Change(in, c.Now) })
}

// visibilityRequest has no enum tag, because core returns a specific code for an invalid value.
type visibilityRequest struct {
	Visibility string `json:"visibility" is:"required" oneof:"private|tenant|public"`
}

// JudgeKeys rejects keys that no model has.
func (in *visibilityRequest) JudgeKeys(unknown []string) error {
	return core.JudgeChange[visibilityRequest, core.Model](unknown)
}

func (a models) setVisibility(c *web.Call, in visibilityRequest) (core.Model, error) {
	v, err := core.ParseVisibility(in.Visibility)
	if err != nil {
		return core.Model{}, err
	}
	return a.store.SetVisibility(c, c.ID(), c.Caller.UserID, v, web.Actor(c), c.Now)
}

func (a models) remove(c *web.Call, id string) (web.None, error) {
	if err := a.owned(c); err != nil {
		return web.None{}, err
	}
	return web.None{}, a.store.DeleteModel(c, id, c.Caller.UserID, web.Actor(c), c.Now)
}

// shares serves /api/models/:id/shares, for the model's owner only.
type shares struct{ models }

func (a shares) list(c *web.Call, _ struct{}, page core.Page) ([]core.Share, error) {
	return a.store.Shares(c, c.ID(), page)
}

func (a shares) create(c *web.Call, in core.ShareInput) (core.Share, error) {
	m := core.Model{ID: c.ID(), OwnerID: c.Caller.UserID} // find has checked both
	s, err := core.NewShare(&m, in, c.Caller, c.Now)
	if err != nil {
		return s, err
	}
	return s, a.store.AddShare(c, s, web.Actor(c))
}

// sharePath identifies one share of a model.
type sharePath struct {
	ShareID string `path:"share_id"`
}

type shareChange struct {
	sharePath
	core.ShareInput
}

// find returns the 404 error for the model or for the share.
func (a shares) find(c *web.Call) error {
	if err := a.owned(c); err != nil {
		return err
	}
	id, ok := core.ParseID(c.Param("share_id"))
	if !ok {
		return web.ErrNotFound
	}
	_, err := a.store.Share(c, c.ID(), id)
	return err
}

func (a shares) show(c *web.Call, in sharePath) (core.Share, error) {
	return a.store.Share(c, c.ID(), in.ShareID)
}

func (a shares) update(c *web.Call, in shareChange) (core.Share, error) {
	return a.store.UpdateShare(c, c.ID(), in.ShareID, func(s *core.Share) error { return s.Change(in.ShareInput) })
}

func (a shares) remove(c *web.Call, in sharePath) (web.None, error) {
	return web.None{}, a.store.DeleteShare(c, c.ID(), in.ShareID, web.Actor(c), c.Now)
}
