package browsertest

import (
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
)

// Line is a browser's network connection.
type Line struct {
	Offline            bool    `json:"offline"`
	Latency            float64 `json:"latency"`            // milliseconds
	DownloadThroughput float64 `json:"downloadThroughput"` // bytes per second; -1: no limit
	UploadThroughput   float64 `json:"uploadThroughput"`
}

// These are the network connections for tests.
var (
	Online  = Line{DownloadThroughput: -1, UploadThroughput: -1}
	Offline = Line{Offline: true, DownloadThroughput: -1, UploadThroughput: -1}
	Slow    = Line{Latency: 100, DownloadThroughput: 50_000, UploadThroughput: 20_000} // a phone in a rural area
)

// setLine is the DevTools command Network.emulateNetworkConditions.
var setLine = cdp.Command[Line, cdp.Empty]{Method: "Network.emulateNetworkConditions"}

// SetLine changes the page's network connection. An offline connection also ends transfers in progress.
func (b *Browser) SetLine(line Line) {
	b.Helper()
	call(b, network.Enable, network.EnableParams{})
	call(b, setLine, line)
}

// ForgetFiles empties the browser's cache.
func (b *Browser) ForgetFiles() {
	b.Helper()
	call(b, network.ClearBrowserCache, cdp.Empty{})
}
