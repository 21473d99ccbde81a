import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import type { Answer } from '../api.ts'

type Page = Answer<'GET /v1/monitors'>
type Monitor = Page['data'][number]

/** Things that happen at once are read anew once; the first of them at once. */
const CALM_MS = 1000

let connected = false
const watchers = new Set<() => void>()

function setConnected(now: boolean): void {
  if (connected === now) return
  connected = now
  for (const tell of watchers) tell()
}

function patchList(queries: QueryClient, id: string, change: Partial<Monitor>): void {
  queries.setQueryData<Page>(['monitors'], (page) =>
    page === undefined
      ? page
      : { ...page, data: page.data.map((monitor) => (monitor.id === id ? { ...monitor, ...change } : monitor)) }
  )
}

/** Collects what changed and reads it anew, at most once a second. */
function createRefresher(queries: QueryClient) {
  const waiting = new Map<string, readonly string[]>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let lastAt = 0
  const flush = () => {
    timer = undefined
    lastAt = Date.now()
    for (const queryKey of waiting.values()) void queries.invalidateQueries({ queryKey })
    waiting.clear()
  }
  return {
    note: (...queryKey: string[]) => {
      waiting.set(queryKey.join(' '), queryKey)
      timer ??= setTimeout(flush, Math.max(0, lastAt + CALM_MS - Date.now()))
    },
    stop: () => clearTimeout(timer)
  }
}

interface Told {
  monitorId: string
  to: Monitor['state']
  at: string
  reason: string
  timestamp: string
}

/** Follows `/v1/live` and keeps what the page shows true to it. The polling of each query stays as the way back. */
export function useLiveEvents(): void {
  const queries = useQueryClient()
  useEffect(() => {
    const source = new EventSource('/v1/live')
    const refresher = createRefresher(queries)
    const on = (type: string, handle: (told: Told) => void) =>
      source.addEventListener(type, (event) => handle(JSON.parse((event as MessageEvent<string>).data) as Told))
    source.onopen = () => setConnected(true)
    source.onerror = () => setConnected(false)
    on('state', ({ monitorId, to, at, reason }) => {
      patchList(queries, monitorId, { state: to, stateSince: at, stateReason: reason })
      refresher.note('monitors', monitorId)
    })
    on('heartbeat', ({ monitorId, timestamp }) => {
      patchList(queries, monitorId, { lastHeartbeatAt: timestamp })
      refresher.note('monitors', monitorId)
    })
    on('presence', () => refresher.note('agents'))
    on('maintenance', () => {
      refresher.note('maintenance')
      refresher.note('monitors')
    })
    on('resync', () => {
      refresher.note('maintenance')
      refresher.note('monitors')
      refresher.note('agents')
    })
    return () => {
      source.close()
      refresher.stop()
      setConnected(false)
    }
  }, [queries])
}

/** Is the stream open? */
export function useConnected(): boolean {
  return useSyncExternalStore(
    (changed) => {
      watchers.add(changed)
      return () => watchers.delete(changed)
    },
    () => connected
  )
}
