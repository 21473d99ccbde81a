import { createContext, useContext } from 'react'

/** Does work that may ask for a recent sign-in: then the person is asked to prove who they are, and it is done again. */
export type Proven = <T>(work: () => Promise<T>) => Promise<T>

export const ProvenContext = createContext<Proven>((work) => work())

export function useProven(): Proven {
  return useContext(ProvenContext)
}
