import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect } from 'react'
import { type Answer, call, SESSION_ENDED } from './api.ts'

type SessionAnswer = Answer<'GET /v1/auth/session'>
/** Who is signed in: everything of the answer is there. */
export type Me = { [K in keyof SessionAnswer]-?: NonNullable<SessionAnswer[K]> }

/** Null for who is not signed in. */
export function meOf(session: SessionAnswer): Me | null {
  return session.user === null || session.organization === undefined ? null : (session as Me)
}

export const SESSION_KEY = ['session'] as const

/** Who I am, as the API says; `user` is null for nobody. Never a 4xx. */
export function useSession() {
  return useQuery({
    queryKey: SESSION_KEY,
    queryFn: ({ signal }) => call('GET /v1/auth/session', {}, signal),
    staleTime: 60_000
  })
}

const MeContext = createContext<Me | null>(null)

export function MeProvider({ me, children }: { me: Me; children: ReactNode }) {
  return <MeContext value={me}>{children}</MeContext>
}

/** The signed-in person; only below the signed-in part of the page. */
export function useMe(): Me {
  const me = useContext(MeContext)
  if (me === null) throw new Error('nobody is signed in here')
  return me
}

/**
 * The other tabs hear here that somebody signed in or out, or went to another organization. One for telling and hearing,
 * since a channel does not hear itself: this tab would forget what its next page has just begun to ask for.
 */
const news = new BroadcastChannel('session')

async function forgetAndAsk(queries: QueryClient): Promise<void> {
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION_KEY[0] })
  await queries.invalidateQueries({ queryKey: SESSION_KEY })
}

/** Forgets everything of the person before and asks who is signed in now; other tabs do the same. */
export function useFreshSession(): () => Promise<void> {
  const queries = useQueryClient()
  return async () => {
    await forgetAndAsk(queries)
    news.postMessage('changed')
  }
}

/** Asks again who is signed in when a call was refused for it, and when another tab changed it. */
export function useSessionNews(): void {
  const queries = useQueryClient()
  useEffect(() => {
    const ended = () => void queries.invalidateQueries({ queryKey: SESSION_KEY })
    const changed = () => void forgetAndAsk(queries)
    news.addEventListener('message', changed)
    globalThis.addEventListener(SESSION_ENDED, ended)
    return () => {
      news.removeEventListener('message', changed)
      globalThis.removeEventListener(SESSION_ENDED, ended)
    }
  }, [queries])
}
