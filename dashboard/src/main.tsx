import '@mantine/core/styles.css'
import '@mantine/notifications/styles.css'
import './app.css'
import { MantineProvider } from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Problem } from './api.ts'
import { App } from './app.tsx'
import { cssVariables, theme } from './theme.ts'

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // What the API refuses it will refuse again; what was away may be back.
      retry: (count, error) => (!(error instanceof Problem) || error.status === 0 || error.status >= 500) && count < 3
    }
  }
})

const root = document.getElementById('root')
if (root === null) throw new Error('the page has no #root')
createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} cssVariablesResolver={cssVariables} defaultColorScheme="auto">
      <Notifications position="bottom-right" />
      <QueryClientProvider client={queries}>
        <App />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>
)
