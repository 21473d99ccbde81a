import { useQuery } from '@tanstack/react-query'
import { call } from '../api.ts'

export interface Installation {
  /** Where agents connect. */
  ingestUrl: string
  /** Where to fetch what vouches for a certificate that this installation made itself; else absent. */
  caUrl: string | undefined
}

/** Where things are, for snippets; undefined until it is known. */
export function useInstallation(): Installation | undefined {
  const { data } = useQuery({
    queryKey: ['installation'],
    queryFn: ({ signal }) => call('GET /api', {}, signal),
    staleTime: Number.POSITIVE_INFINITY
  })
  return data === undefined ? undefined : { ingestUrl: data.links.ingest ?? '', caUrl: data.links.ca }
}

export const CA_FILE = 'pulsegate-ca.pem'

/** Fetches what to trust. Nothing vouches for it yet, so this once it is taken as it comes. */
export function trustCommand(caUrl: string): string {
  return `curl -fsSk -o ~/${CA_FILE} '${caUrl}'`
}
