// The page at `/`: says what this is and where the API is.

/** Plain HTML; needs no script and nothing from elsewhere. */
export const homePage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>parley</title>
<style>
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 42rem; margin: 4rem auto; padding: 0 1rem }
code { font-size: .9em }
dt { font-weight: 600; margin-top: 1rem }
</style>
</head>
<body>
<h1>parley</h1>
<p>Analytics and monitoring for AI agents: every acknowledged session, event, call and trace, exactly once.</p>
<dl>
<dt>Send</dt>
<dd><code>POST /api/v1/capture-session</code>, <code>POST /api/v1/capture-event</code> and
<code>POST /api/voice/v1/webhooks/voice-platform</code> with the header <code>x-org-id</code>; OpenTelemetry traces to
<code>/v1/traces</code> of the collector.</dd>
<dt>Read</dt>
<dd><code>/dashboard/api/…</code> with <code>x-api-key</code> or a bearer token, for example
<code>GET /dashboard/api/organization/summary</code> and <code>POST /dashboard/api/raw-logs</code>.</dd>
</dl>
</body>
</html>
`
