package members

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strconv"

	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/handlers/web"
	"newsletterd/store/exports"
	"newsletterd/store/imports"
	"newsletterd/store/subscribercsv"
)

// exportedPeople is the CSV file to import. It is the body itself, or is created from an archive or a list of people in
// the body.
type exportedPeople struct {
	io.Reader
	made    io.Closer
	spool   *os.File
	sources func() []subscribercsv.Source // origins of the lines in a created file; nil: the file is the body
}

// Close releases the archive.
func (e *exportedPeople) Close() {
	if e.made != nil {
		_ = e.made.Close()
	}
	if e.spool != nil {
		_ = e.spool.Close()
	}
}

// people returns an upload's CSV file and stores the posts that the upload contains. If the file is not an export from
// a known tool, people returns it unchanged.
func (a importsAPI) people(c *web.Call, up *imports.ImportUpload, body io.Reader, now func() core.Instant) (
	*exportedPeople, error,
) {
	begun := bufio.NewReader(body)
	head, err := begun.Peek(300)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if !exports.MayBe(head) {
		return listedPeople(begun)
	}
	f, size, err := up.Spool(c, begun, now)
	if err != nil {
		return nil, err
	}
	people := &exportedPeople{Reader: f, spool: f}
	export, err := exports.Open(c, f, size)
	if err == nil {
		up.Tool = export.Tool
		if err = drafts.KeepPosts(c, up, export, c.Now); err == nil && export.HasPeople() {
			made := export.CSV(c)
			people.Reader, people.made, people.sources = made, made, export.Sources
			return people, nil
		}
		if up.PostsOnly = err == nil; up.PostsOnly && up.Job().Posts == 0 {
			err = core.Invalidf("", "The export contains no subscribers and no posts with content. "+
				"Choose another file.")
		}
		if err == nil {
			return people, nil
		}
	}
	if errors.Is(err, exports.ErrUnknown) {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		people.Close()
		return nil, err
	}
	return people, nil
}

// listedPeople returns the CSV file in a body. If the body is a list of people without a header, it creates the file
// from the list.
func listedPeople(body io.Reader) (*exportedPeople, error) {
	list, same, err := subscribercsv.ReadPeople(body)
	if err != nil {
		return nil, err
	}
	if list != nil {
		return &exportedPeople{Reader: list, sources: list.Sources}, nil
	}
	return &exportedPeople{Reader: same}, nil
}

// postRoutes adds the routes for the posts in an export.
func (a importsAPI) postRoutes(t *web.Table, item string, one func(web.Endpoint) web.Endpoint) {
	may := web.Admin(core.ActionPeopleImport)
	t.Add("GET", item+"/posts", may, web.Member, one(web.Path(a.posts)),
		"List the posts of an uploaded export, and the issues that they have become").Named("listImportedPosts")
	t.Add("POST", item+"/posts", may, web.Member,
		one(web.JSON(a.publishPosts).BodyOptional()).Fails(core.Conflict, core.TooLarge),
		"Add the posts of an export to the archive of the list").Named("publishImportedPosts").
		Example(web.Object{"drafts": false, "paid": false, "site": "https://blog.example.org"}).
		Refuses(
			web.Refused("posts", "Contains a number that matches no post"),
			web.Refused("site", "Not the URL of a site"),
			web.Clash("The import has no posts, or it ended over a week ago"),
		)
	t.Add("POST", item+"/posts/undo", may, web.Member, one(web.Path(a.withdrawPosts)).Fails(core.Conflict),
		"Remove the posts of an export from the archive").Named("withdrawImportedPosts").
		Refuses(web.Clash("The import has no posts, or it ended over a week ago"))
	t.Add("GET", item+"/images", may, web.Member, one(web.List(a.pictures, func(p core.ImportedPicture) string {
		return strconv.FormatInt(p.No, 10)
	})), "List the images in the posts of an export, with the reasons why they were not copied").
		Named("listImportedImages")
	t.Add("POST", item+"/images/retry", may, web.Member, one(web.Path(a.retryPictures)).Accepted().Fails(core.Conflict),
		"Try again to copy the images that failed").Named("retryImportedImages").
		Refuses(web.Clash("No image failed, the import ended over a week ago, or the last retry was less than 10 minutes ago"))
}

// pictureFilter filters the list of an import's images.
type pictureFilter struct {
	State string `query:"state" enum:"listed|waiting|stored|failed|removing" about:"Only images in this state"`
}

func (a importsAPI) pictures(c *web.Call, in pictureFilter, page core.Page) ([]core.ImportedPicture, error) {
	return a.store.ImportPictures(c, c.ID(), in.State, page)
}

func (a importsAPI) retryPictures(c *web.Call, id string) (importRecord, error) {
	j, err := a.store.RetryPictures(c, id, web.Actor(c), c.Now)
	if err != nil {
		return importRecord{}, err
	}
	return a.record(c, &j)
}

func (a importsAPI) posts(c *web.Call, id string) ([]core.ImportedPost, error) {
	return a.store.ImportedPosts(c, id)
}

func (a importsAPI) publishPosts(c *web.Call, in core.PostsInput) ([]core.ImportedPost, error) {
	if err := a.store.PublishPosts(c, c.ID(), in, web.Actor(c), c.Now, drafts.PostText); err != nil {
		return nil, err
	}
	return a.store.ImportedPosts(c, c.ID())
}

func (a importsAPI) withdrawPosts(c *web.Call, id string) (web.None, error) {
	if err := a.mayUndo(c, id); err != nil {
		return web.None{}, err
	}
	return web.None{}, a.store.WithdrawPosts(c, id, web.Actor(c), c.Now)
}
