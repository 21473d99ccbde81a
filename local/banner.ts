import { relative } from 'node:path'
import type { Installation } from './supervisor.ts'

interface Facts {
  installation: Installation
  dataDir: string
  /** From the start of the process to ready. */
  milliseconds: number
  /** What a demo adds. */
  more?: readonly string[]
}

const NEW_ACCOUNT =
  '{"organizationName":"Example","name":"Alice","email":"alice@example.com","password":"a-long-pass-phrase-of-yours"}'

function shortPath(path: string): string {
  const short = relative(process.cwd(), path)
  return short.startsWith('..') || short === '' ? path : short
}

/** The block that `npm start` prints when everything is ready: where things are, what to trust, what to do next. */
export function bannerOf({ installation, dataDir, milliseconds, more = [] }: Facts): string {
  const { addresses, tls, notes } = installation
  const { apiUrl, appUrl, ingestUrl } = addresses
  const caFile = tls.caFile === undefined ? undefined : shortPath(tls.caFile)
  const trust = caFile === undefined ? '' : `--cacert ${/\s/.test(caFile) ? `'${caFile}'` : caFile} `
  const lines = [
    `Pulsegate is ready (${(milliseconds / 1_000).toFixed(1)} s)`,
    '',
    `  dashboard  ${appUrl}`,
    `  API        ${apiUrl}   (${apiUrl}/openapi.json)`,
    `  ingest     ${ingestUrl}`,
    ...(caFile === undefined ? [] : [`  CA file    ${caFile}   (generated: clients have to trust it)`]),
    `  data       ${shortPath(dataDir)}   (logs in ${shortPath(`${dataDir}/logs`)})`,
    ...notes.map((note) => `  note       ${note}`),
    '',
    ...(more.length > 0
      ? more.map((line) => `  ${line}`)
      : [
          `  Next: open ${appUrl}/signup, or the same without a browser:`,
          `    curl -s ${trust}-H 'content-type: application/json' ${apiUrl}/v1/auth/signup \\`,
          `      -d '${NEW_ACCOUNT}'`
        ]),
    '',
    '  Ctrl-C stops everything.'
  ]
  return `\n${lines.join('\n')}\n`
}
