// A program on types that openapi-typescript makes of the OpenAPI documents. It has to pass tsc --strict, and ends with an
// error if a call fails or answers something else than its type says.
import createClient from "openapi-fetch";
import type { paths as Devices } from "./devices.js";
import type { paths as Member } from "./member.js";
import type { paths as Send } from "./send.js";

declare const process: { env: Record<string, string | undefined> };

const origin = process.env.ORIGIN ?? "";
const headers = { Authorization: `Bearer ${process.env.TOKEN ?? ""}` };
const member = createClient<Member>({ baseUrl: origin, headers });
const send = createClient<Send>({ baseUrl: origin, headers });
const devices = createClient<Devices>({ baseUrl: origin, headers });

let calls = 0;

function answered<T>(r: { data?: T; error?: unknown; response: Response }): NonNullable<T> {
  if (r.data === undefined || r.data === null) {
    throw new Error(`${r.response.url}: ${r.response.status} ${JSON.stringify(r.error)}`);
  }
  calls++;
  return r.data;
}

function equal<T>(got: T, want: T): void {
  if (got !== want) throw new Error(`call ${calls}: ${JSON.stringify(got)} instead of ${JSON.stringify(want)}`);
}

const tenant = answered(await member.POST("/api/admin/tenants", { body: { name: "TypeScript" } }));
const list = answered(await member.POST("/api/admin/newsletter-lists", { body: { tenant_id: tenant.id, name: "News" } }));
const asked = answered(await member.POST("/api/newsletter/subscribe", {
  body: { list_id: list.id, email: "ada@example.org", preferences: { first_name: "Ada" } },
}));
const confirmed = answered(await member.GET("/api/newsletter/confirm", { params: { query: { token: asked.confirm_token } } }));
equal<string>(confirmed.status, "active");
const shown = answered(await member.GET("/api/admin/newsletter-lists/{id}", { params: { path: { id: list.id } } }));
equal(shown.counts.active, 1);

const made = answered(await send.POST("/api/send-jobs", {
  body: { list_id: list.id, subject: "Hello", body_text: "News.", scheduled_at: "2199-01-01T00:00:00Z" },
}));
const path = { id: made.send_job_id };
const job = answered(await send.GET("/api/send-jobs/{id}", { params: { path } }));
equal<string>(job.status, "pending");
const preview = answered(await send.POST("/api/send-jobs/{id}/preview", { params: { path }, body: { email: "ada@example.org" } }));
equal(preview.subject, "Hello");

const device = answered(await devices.POST("/api/devices", { body: { name: "Printer" } }));
equal<string | null | undefined>(device.registered_at, null);
const library = answered(await devices.GET("/api/models/library", { params: { query: { limit: 1 } } }));
equal(library.items.length, 0);

const domain = answered(await member.POST("/api/admin/sender-domains", {
  body: { tenant_id: tenant.id, domain: "news.typescript.example" },
}));
equal<string>(domain.status, "proposed");
const uploaded = answered(await member.POST("/api/admin/imports", {
  params: { query: { list_id: list.id } }, body: "email\ngrace@example.org\n",
  bodySerializer: (file) => file, headers: { "Content-Type": "text/csv" },
}));
const file = { id: uploaded.id };
const started = answered(await member.POST("/api/admin/imports/{id}/run", { params: { path: file }, body: { dry_run: true } }));
equal(started.dry_run, true);
const progress = answered(await member.GET("/api/admin/imports/{id}", { params: { path: file } }));
equal(progress.failed, 0);
const invited = answered(await member.POST("/api/admin/invitations", {
  body: { tenant_id: tenant.id, email: "viewer@example.org", role: "viewer" },
}));
equal<string>(invited.role, "viewer");
const endpoint = answered(await member.POST("/api/admin/webhook-endpoints", {
  body: { tenant_id: tenant.id, url: "https://hooks.example.org/newsletter" },
}));
equal(endpoint.secret !== undefined, true);

console.log(`${calls} calls`);
