import { CA_FILE, type Installation, trustCommand } from './installation.ts'

/** Where the systemd unit finds its variables and what to trust. */
export const ENVIRONMENT_FILE = '/etc/pulsegate-agent.env'
const SYSTEM_CA_FILE = `/etc/${CA_FILE}`

/** One paste in a clone of Pulsegate, on any machine. */
export function terminalOf(apiKey: string, { ingestUrl, caUrl }: Installation): string {
  const lines = [`SERVICE_API_KEY=${apiKey}`, `INGEST_URL=${ingestUrl}`]
  if (caUrl !== undefined) lines.push(`NODE_EXTRA_CA_CERTS=~/${CA_FILE}`)
  const fetchCa = caUrl === undefined ? '' : `${trustCommand(caUrl)}\n`
  return `${fetchCa}${[...lines, 'npm run agent'].join(' \\\n  ')}`
}

export function environmentOf(apiKey: string, { ingestUrl, caUrl }: Installation): string {
  const trust = caUrl === undefined ? '' : `NODE_EXTRA_CA_CERTS=${SYSTEM_CA_FILE}\n`
  return `SERVICE_API_KEY=${apiKey}\nINGEST_URL=${ingestUrl}\n${trust}`
}

/** `%` begins a specifier in a unit file. */
export function unitOf(name: string): string {
  return `[Unit]
Description=Pulsegate agent ${name.replaceAll(/\s+/g, ' ').replaceAll('%', '%%')}
Wants=network-online.target
After=network-online.target

[Service]
EnvironmentFile=${ENVIRONMENT_FILE}
WorkingDirectory=/opt/pulsegate
ExecStart=/usr/bin/env node dist/agent/main.js
DynamicUser=yes
Restart=always
RestartSec=5

[Install]
WantedBy=multi-user.target
`
}

/** What to do with the two files, as root. */
export function installationOf({ caUrl }: Installation): string {
  const fetchCa = caUrl === undefined ? '' : `curl -fsSk -o ${SYSTEM_CA_FILE} '${caUrl}'\n`
  return `${fetchCa}chmod 600 ${ENVIRONMENT_FILE}\nsystemctl enable --now pulsegate-agent`
}

interface Made {
  apiKey: string
  scopes: readonly string[]
  monitorIds: readonly string[]
}

/** A first call by the key: a heartbeat where it may report, else what it may read. */
export function callOf({ apiKey, scopes, monitorIds }: Made, { caUrl }: Installation): string {
  const { origin } = globalThis.location
  const trust = caUrl === undefined ? '' : ` --cacert ~/${CA_FILE}`
  const fetchCa = caUrl === undefined ? '' : `${trustCommand(caUrl)}\n`
  const [monitorId = '<monitor id>'] = monitorIds
  const curl = `${fetchCa}curl -fsS${trust} -H 'Authorization: Bearer ${apiKey}' \\\n  `
  if (!scopes.includes('heartbeats:write')) {
    const path = scopes.includes('monitors:read') ? '/v1/monitors' : `/api/heartbeats?monitorId=${monitorId}`
    return `${curl}'${origin}${path}'`
  }
  return `${curl}-H 'Content-Type: application/json' '${origin}/api/heartbeats' \\
  -d '{"monitorId":"${monitorId}","status":"up","latency":12,"timestamp":"'"$(date -u +%FT%TZ)"'"}'`
}
