import { existsSync, readFileSync } from 'node:fs'

/** The package's version; its description lies one folder up from the source and two from the build. */
export function readVersion(): string {
  const candidates = ['../package.json', '../../package.json'].map((path) => new URL(path, import.meta.url))
  const found = candidates.find((url) => existsSync(url))
  if (found === undefined) return '0.0.0'
  const { version } = JSON.parse(readFileSync(found, 'utf8')) as { version: string }
  return version
}
