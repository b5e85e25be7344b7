// The time zone of the browser goes along with each request of the console and the account page, so that they show
// times in it.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const name = "newsletterd-zone";
if (zone && !document.cookie.split("; ").includes(`${name}=${encodeURIComponent(zone)}`)) {
  const secure = location.protocol === "https:" ? "; secure" : "";
  for (const path of ["/console", "/account"]) {
    document.cookie = `${name}=${encodeURIComponent(zone)}; path=${path}; max-age=31536000; samesite=lax${secure}`;
  }
  // The form for a new newsletter was made before the server knew the zone.
  const field = location.pathname === "/console/new-tenant" && document.getElementById("f-time_zone");
  if (field) field.value ||= zone;
}
