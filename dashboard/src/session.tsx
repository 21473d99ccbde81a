import { useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext } from 'react'
import { type Answer, call } from './api.ts'

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

/** Forgets everything of the person before and asks who is signed in now. */
export function useFreshSession(): () => Promise<void> {
  const queries = useQueryClient()
  return async () => {
    queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION_KEY[0] })
    await queries.invalidateQueries({ queryKey: SESSION_KEY })
  }
}
