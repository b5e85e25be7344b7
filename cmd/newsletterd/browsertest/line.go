package browsertest

import (
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
)

// Line is what connects a browser with the world.
type Line struct {
	Offline            bool    `json:"offline"`
	Latency            float64 `json:"latency"`            // milliseconds
	DownloadThroughput float64 `json:"downloadThroughput"` // octets a second; -1: as many as there are
	UploadThroughput   float64 `json:"uploadThroughput"`
}

// Lines of browsers.
var (
	Online  = Line{DownloadThroughput: -1, UploadThroughput: -1}
	Offline = Line{Offline: true, DownloadThroughput: -1, UploadThroughput: -1}
	Slow    = Line{Latency: 100, DownloadThroughput: 50_000, UploadThroughput: 20_000} // of a telephone in the country
)

// setLine is Network.emulateNetworkConditions.
var setLine = cdp.Command[Line, cdp.Empty]{Method: "Network.emulateNetworkConditions"}

// SetLine gives the page another line. What is under way breaks where there is none.
func (b *Browser) SetLine(line Line) {
	b.Helper()
	call(b, network.Enable, network.EnableParams{})
	call(b, setLine, line)
}
